//! What tells by its name or its form that it is a secret.

use super::Secret;

/// Parts of the names of variables and flags that hold secrets.
const NAMES: [&str; 9] = [
    "KEY",
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "COOKIE",
    "AUTH",
];
/// Minimum length of such a secret, in bytes. A shorter text is in others by chance.
const MIN_BYTES: usize = 8;

/// True if the name of a variable or of a flag says that its value is a secret.
#[must_use]
pub fn is_secret_name(name: &str) -> bool {
    // `GIT_AUTHOR_EMAIL` is not about authorization.
    let name = name.to_ascii_uppercase().replace("AUTHORIZATION", "AUTH");
    let name = name.replace("AUTHOR", "");
    NAMES.iter().any(|part| name.contains(part))
}

/// True if the value of something that is named like a secret can be one: `KEYMAP=us`, `TOKEN_URL=https://host` and
/// `PASSWORD_STORE_DIR=/home/me/.store` hold none.
#[must_use]
pub fn may_be_secret(value: &str) -> bool {
    value.len() >= MIN_BYTES && !is_url(value) && !Secret::from(value).is_plain()
}

/// True if a text begins as a URL does.
pub(crate) fn is_url(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, _)| {
        scheme
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    })
}

/// The passwords of the URLs in a value: with their user, and alone if they are no words.
#[must_use]
pub fn url_passwords(value: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in value.match_indices("://") {
        let rest = &value[at + 3..];
        let end = rest.find(|c: char| "/?#\"' ,;".contains(c) || c.is_whitespace());
        let authority = &rest[..end.unwrap_or(rest.len())];
        let Some((user, _)) = authority.rsplit_once('@') else {
            continue;
        };
        found.push(format!("{user}@"));
        let Some((_, password)) = user.split_once(':') else {
            continue;
        };
        for password in [password.to_owned(), decoded(password)] {
            if may_be_secret(&password) {
                found.push(password);
            }
        }
    }
    found
}

/// A part of a URL without its percent-encoding.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|_| *first == b'%');
        let byte = digits
            .and_then(|digits| str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
