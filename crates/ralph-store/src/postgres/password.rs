//! Passwords of the roles that ralph makes: a random one, and the form in which the server is told one.

use std::io::Read as _;

use sha2::{Digest as _, Sha256};

/// As the server's own `\password` does.
const ROUNDS: u32 = 4096;
const BLOCK: usize = 64;

/// A password of 160 random bits, of letters and digits.
pub(super) fn generate() -> std::io::Result<String> {
    // Without those that are taken for one another; 32 of them, so that each byte gives one without a bias.
    const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let bytes: [u8; 32] = random()?;
    Ok(bytes
        .iter()
        .map(|byte| char::from(LETTERS[usize::from(byte % 32)]))
        .collect())
}

fn random<const N: usize>() -> std::io::Result<[u8; N]> {
    let mut bytes = [0; N];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// The form in which the server keeps a password, so that the password itself is in none of its logs. One that is not plain
/// ASCII goes there as it is: its characters have to be brought into one form first, which the server does.
pub(super) fn verifier(password: &str) -> std::io::Result<String> {
    if !password.is_ascii() {
        return Ok(password.to_owned());
    }
    Ok(scram(password, &random::<16>()?))
}

/// RFC 5803, as PostgreSQL writes it.
fn scram(password: &str, salt: &[u8]) -> String {
    let salted = pbkdf2(password.as_bytes(), salt);
    let stored: [u8; 32] = Sha256::digest(hmac(&salted, b"Client Key")).into();
    let server = hmac(&salted, b"Server Key");
    let (salt, stored, server) = (base64(salt), base64(&stored), base64(&server));
    format!("SCRAM-SHA-256${ROUNDS}:{salt}${stored}:{server}")
}

fn pbkdf2(password: &[u8], salt: &[u8]) -> [u8; 32] {
    let first: Vec<u8> = salt.iter().copied().chain([0, 0, 0, 1]).collect();
    let mut last = hmac(password, &first);
    let mut all = last;
    for _ in 1..ROUNDS {
        last = hmac(password, &last);
        for (byte, more) in all.iter_mut().zip(last) {
            *byte ^= more;
        }
    }
    all
}

fn hmac(key: &[u8], text: &[u8]) -> [u8; 32] {
    let mut block = [0_u8; BLOCK];
    if key.len() > BLOCK {
        block[..32].copy_from_slice(&Sha256::digest(key));
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let inner = Sha256::new()
        .chain_update(block.map(|byte| byte ^ 0x36))
        .chain_update(text)
        .finalize();
    Sha256::new()
        .chain_update(block.map(|byte| byte ^ 0x5c))
        .chain_update(inner)
        .finalize()
        .into()
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for part in bytes.chunks(3) {
        let byte = |at: usize| u32::from(part.get(at).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            if at <= part.len() {
                let index = (bits >> (18 - 6 * at)) & 63;
                text.push(char::from(LETTERS[index as usize]));
            } else {
                text.push('=');
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_of_a_password_is_the_one_that_the_server_makes() {
        // RFC 7677: the keys of user `user` with the password `pencil`.
        let salt = [
            0x5b, 0x6d, 0x99, 0x68, 0x9d, 0x12, 0x35, 0x8e, 0xec, 0xa0, 0x4b, 0x14, 0x12, 0x36,
            0xfa, 0x81,
        ];
        assert_eq!(
            scram("pencil", &salt),
            "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
        );
    }

    #[test]
    fn two_passwords_are_never_the_same() {
        let (one, other) = (generate().unwrap(), generate().unwrap());
        assert_ne!(one, other);
        assert_eq!(one.len(), 32);
    }
}
