//! Private keys, web tokens and passwords that belong to no vendor.

use super::{SecretRule, behind, named, token};

pub(super) const RULES: &[SecretRule] = &[
    token(
        "private key",
        &["-----BEGIN "],
        // Headers and the signs of source code may stand between; a beginning without a body is only a word.
        concat!(
            r"(?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----",
            r#"(?:\\[nrt]|[\s"'`+,;()\\>|*#]|(?:Proc-Type|DEK-Info|Version|Comment|Hash):[^\n\\]{0,100}){0,60}"#,
            r"[A-Za-z0-9+/=]{16,}",
            r#"(?:[A-Za-z0-9+/=\s\\"'`,;:().>|*#_<-]*?-----END [A-Z0-9 ]{0,40}-----|(?:[A-Za-z0-9+/=\s]|\\[nrt])*)"#,
        ),
    ),
    token(
        "encoded private key",
        &[
            "LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tL",
            "LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0t",
            "LS0tLS1CRUdJTiBFQyBQUklWQVRFIEtFWS0tLS0t",
            "LS0tLS1CRUdJTiBPUEVOU1NIIFBSSVZBVEUgS0VZLS0tLS",
            "LS0tLS1CRUdJTiBFTkNSWVBURUQgUFJJVkFURSBLRVktLS0tL",
        ],
        "[A-Za-z0-9+/=]{16,}",
    ),
    behind(
        "PuTTY private key",
        &["Private-Lines: "],
        r"[0-9]{1,3}(?:\s|\\[rn])+((?:<base64>{16,}=*(?:\s|\\[rn])*){1,100})",
    ),
    token("age secret key", &["AGE-SECRET-KEY-1"], "[0-9A-Z]{58}"),
    behind(
        "WireGuard private key",
        &[
            "PrivateKey = ",
            "PrivateKey=",
            "PresharedKey = ",
            "PresharedKey=",
        ],
        "(<base64>{43}=)",
    )
    .entropy(3.5),
    token(
        "JSON web token",
        &["eyJ"],
        r"<word>{10,}\.eyJ<word>{10,}\.<word>{10,}",
    )
    .resembles(),
    token(
        "encrypted web token",
        &["eyJhbGciOiJSU0EtT0FFU", "eyJhbGciOiJkaXIi", "eyJhbGciOiJBM"],
        r"<word>{4,}\.<word>*\.<word>{8,}\.<word>{16,}\.<word>{16,}",
    )
    .resembles(),
    behind(
        "password in a URL",
        &["://"],
        r#"[A-Za-z0-9._~%+-]{1,60}:([^\s/@:"'`<>{}\[\]()$\\|,;*&#?]{8,100})@[A-Za-z0-9]"#,
    )
    .entropy(3.0)
    .resembles(),
    behind(
        "basic credentials",
        &["Authorization: Basic ", "authorization: basic "],
        "(<base64>{16,}={0,2})",
    )
    .entropy(3.0)
    .resembles(),
    behind(
        "bearer token",
        &["Authorization: Bearer ", "authorization: bearer "],
        "([A-Za-z0-9._~+/-]{24,}={0,2})",
    )
    .entropy(3.5)
    .resembles(),
    behind(
        "htpasswd hash",
        &[":$apr1$"],
        r"([A-Za-z0-9./]{8}\$[A-Za-z0-9./]{22})",
    )
    .resembles(),
    token(
        "Ansible vault",
        &["$ANSIBLE_VAULT;1."],
        r"[12];AES256(?:;[a-z0-9_-]+)?(?:\s|\\n)+[0-9]{64,}",
    ),
    token(
        "1Password service account token",
        &["ops_eyJ"],
        "<word>{80,}={0,2}",
    ),
    token(
        "1Password secret key",
        &["A3-"],
        "<upper>{6}-(?:<upper>{11}|<upper>{6}-<upper>{5})-<upper>{5}-<upper>{5}-<upper>{5}",
    ),
    token(
        "Tailscale key",
        &["tskey-"],
        "(?:auth|api|client|scim|webhook)-<alnum>{8,20}-<alnum>{20,40}",
    ),
    token(
        "HashiCorp Vault token",
        &["hvs.", "hvb.", "hvr."],
        "<word>{24,300}",
    ),
    token(
        "Infisical service token",
        &["st."],
        r"<hex>{24}\.<hex>{32}\.<hex>{32}",
    ),
    named("Okta token", &["okta"], "00<word>{40}"),
    named("Auth0 client secret", &["auth0"], "<word>{64}").entropy(4.0),
    named("Duo secret key", &["duo"], "<alnum>{40}").entropy(3.5),
    named("ngrok token", &["ngrok"], "<alnum>{27}_<alnum>{21}").entropy(3.5),
    token(
        "Stytch secret",
        &["secret-live-", "secret-test-"],
        "<word>{36,52}=?",
    ),
    named(
        "Clerk secret",
        &["clerk"],
        "sk_(?:live|test)_<alnum>{40,50}",
    ),
    named(
        "Kubernetes bootstrap token",
        &["kubeadm", "bootstrap"],
        r"<lower>{6}\.<lower>{16}",
    )
    .entropy(3.0),
    token("OpenShift token", &["sha256~"], "<word>{43}"),
];
