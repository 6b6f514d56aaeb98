//! Which passwords are accepted: long ones that are not easy to guess.
//!
//! A long password is guessed early if it is made of what everybody uses: common words, the name, keys in a row, repetition. What is
//! left of it without these parts must still be long. A list of leaked passwords would be larger than the server, and almost all of
//! them are shorter than the least length.

use domain::Finding;

/// Minimum length of a password, in characters.
const MIN_PASSWORD_CHARS: usize = 12;
/// Maximum length of a password, in bytes: bounds the cost of hashing.
pub(super) const MAX_PASSWORD_BYTES: usize = 1024;
/// The least number of characters beside what is easy to guess: each such part counts as one.
const MIN_HARD_CHARS: usize = 8;
/// The least number of different characters.
const MIN_DIFFERENT_CHARS: usize = 5;
/// The least length of a run of neighbours, such as `abcd` or `4321`, or of keys in a row.
const MIN_RUN: usize = 4;

/// Rows of keys on the usual keyboards, and the alphabet.
const ROWS: [&str; 7] = [
    "1234567890",
    "qwertyuiop",
    "qwertzuiop",
    "azertyuiop",
    "asdfghjkl",
    "zxcvbnm",
    "abcdefghijklmnopqrstuvwxyz",
];

/// Words that most common passwords are made of, and those of this product.
const COMMON_WORDS: [&str; 58] = [
    "password",
    "passwort",
    "passw0rd",
    "passphrase",
    "letmein",
    "welcome",
    "willkommen",
    "administrator",
    "admin",
    "root",
    "login",
    "access",
    "master",
    "secret",
    "geheim",
    "changeme",
    "default",
    "user",
    "guest",
    "test",
    "demo",
    "hello",
    "iloveyou",
    "love",
    "princess",
    "sunshine",
    "dragon",
    "monkey",
    "shadow",
    "football",
    "baseball",
    "superman",
    "batman",
    "pokemon",
    "starwars",
    "freedom",
    "whatever",
    "trustno",
    "ninja",
    "summer",
    "winter",
    "spring",
    "autumn",
    "monday",
    "friday",
    "january",
    "december",
    "company",
    "server",
    "cluster",
    "docker",
    "kubernetes",
    "flotilla",
    "production",
    "staging",
    "security",
    "computer",
    "internet",
];

/// Checks a new password of this user.
pub(super) fn check_password(user: &str, password: &str) -> Option<Finding> {
    if password.chars().count() < MIN_PASSWORD_CHARS || password.len() > MAX_PASSWORD_BYTES {
        return Some(password_finding(format!(
            "The password needs at least {MIN_PASSWORD_CHARS} characters (and at most {MAX_PASSWORD_BYTES} bytes)."
        )));
    }
    let why = find_weakness(user, password)?;
    Some(password_finding(format!("The password is easy to guess: {why}.")))
}

fn password_finding(message: String) -> Finding {
    Finding::error("Password", message, "Four random words make a good password.").with_path("/password")
}

/// Why a password is easy to guess; `None` if it is not.
fn find_weakness(user: &str, password: &str) -> Option<&'static str> {
    let text: Vec<char> = password.to_lowercase().chars().map(plain_letter).collect();
    let mut different = text.clone();
    different.sort_unstable();
    different.dedup();
    if different.len() < MIN_DIFFERENT_CHARS {
        return Some("it has too few different characters");
    }
    if is_repetition(&text) {
        return Some("it repeats itself");
    }
    let name_parts = user.split(['-', '.', '_']).filter(|part| part.chars().count() >= 3);
    let words: Vec<Vec<char>> = COMMON_WORDS
        .into_iter()
        .chain(name_parts)
        .chain((!user.is_empty()).then_some(user))
        .map(|word| word.to_lowercase().chars().map(plain_letter).collect())
        .collect();
    (count_hard_chars(&text, &words) < MIN_HARD_CHARS)
        .then_some("it is made of common words, the name, or keys in a row")
}

/// The letter that a digit or sign is often written for.
const fn plain_letter(c: char) -> char {
    match c {
        '@' => 'a',
        '$' => 's',
        '!' => 'i',
        '0' => 'o',
        c => c,
    }
}

/// Whether the text is a shorter one several times.
fn is_repetition(text: &[char]) -> bool {
    (1..=text.len() / 2).any(|unit| text.iter().zip(&text[unit..]).all(|(a, b)| a == b))
}

/// The characters, where each word and each run counts as one, and digits at the end count as one.
fn count_hard_chars(text: &[char], words: &[Vec<char>]) -> usize {
    let is_tail = |c: &char| c.is_ascii_digit() || matches!(c, 'o' | 'i' | '-' | '_' | '.' | ' ' | '?');
    let tail = text.iter().rev().take_while(|c| is_tail(c)).count();
    let mut rest = &text[..text.len() - tail];
    let mut count = usize::from(tail > 0);
    while !rest.is_empty() {
        let word = words.iter().filter(|word| rest.starts_with(word)).map(Vec::len).max().unwrap_or(0);
        let skipped = word.max(run_length(rest)).max(1);
        rest = &rest[skipped..];
        count += 1;
    }
    count
}

/// The length of the run at the start of the text, 0 if it is short.
fn run_length(text: &[char]) -> usize {
    let along = |row: &str| {
        let keys: Vec<char> = row.chars().map(plain_letter).collect();
        let at = |c: char| keys.iter().position(|key| *key == c);
        let step = |forward: bool| {
            let is_next = |pair: &[char]| match (at(pair[0]), at(pair[1])) {
                (Some(a), Some(b)) => {
                    if forward {
                        a + 1 == b
                    } else {
                        b + 1 == a
                    }
                }
                _ => false,
            };
            1 + text.windows(2).take_while(|pair| is_next(pair)).count()
        };
        step(true).max(step(false))
    };
    let same = 1 + text.windows(2).take_while(|pair| pair[0] == pair[1]).count();
    let longest = ROWS.iter().map(|row| along(row)).max().unwrap_or(0).max(same);
    if longest >= MIN_RUN { longest } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_that_is_short_common_repeated_or_the_name_is_rejected() {
        for bad in [
            "short",
            "password1234",
            "Password1234!",
            "P@ssw0rd2026!",
            "123456789012",
            "qwertyuiop12",
            "qwertzuiop123",
            "aaaaaaaaaaaa",
            "abcabcabcabc",
            "abcdefghijkl",
            "administrator",
            "Welcome-2026-2027",
            "letmeinletmein",
            "ada-lovelace",
            "Ada-Lovelace1",
            "lovelacelovelace",
            "flotilla-flotilla",
            "flotilla-admin-1",
            &"x".repeat(2_000),
        ] {
            assert!(check_password("ada-lovelace", bad).is_some(), "{bad}");
        }
    }

    #[test]
    fn a_long_password_that_is_hard_to_guess_is_accepted() {
        for good in [
            "correct horse battery",
            "bow-lagoon-wave-oar",
            "brig-bay-bow-oar",
            "9f2c4e1b7a6d",
            "käse über fjord 7",
            "Tr0ub4dor&3xkcd",
        ] {
            assert!(check_password("ada", good).is_none(), "{good}");
        }
    }
}
