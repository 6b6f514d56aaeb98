
// Many small chunks in one file: each is a slice of it.
let pieces;
async function piece(from, to) {
    pieces ??= fetch(new URL("./PIECES", import.meta.url)).then((answer) => {
        if (!answer.ok) throw new Error(`${answer.url}: ${answer.status}`);
        return answer.arrayBuffer();
    });
    try {
        return new Response((await pieces).slice(from, to), { headers: { "content-type": "application/wasm" } });
    } catch (why) {
        // The next one who asks tries again.
        pieces = undefined;
        throw why;
    }
}
