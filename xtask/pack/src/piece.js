
// Small chunks share one file; each is a slice of it.
let pieces;
async function piece(from, to) {
    pieces ??= fetch(new URL("./PIECES", import.meta.url)).then((response) => {
        if (!response.ok) throw new Error(`${response.url}: ${response.status}`);
        return response.arrayBuffer();
    });
    try {
        return new Response((await pieces).slice(from, to), { headers: { "content-type": "application/wasm" } });
    } catch (error) {
        // The next call retries.
        pieces = undefined;
        throw error;
    }
}
