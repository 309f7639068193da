//! The keys of a provider (JWKS), and signatures by them.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{self, RsaPublicKeyComponents, UnparsedPublicKey};
use serde::Deserialize;
use serde_json::{Map, Value};

/// The longest token that is read.
const TOKEN_BYTES_MAX: usize = 64 << 10;

/// The keys that a provider signs with.
#[derive(Clone, Debug, Default)]
pub(super) struct ProviderKeys(Vec<SigningKey>);

#[derive(Clone, Debug)]
struct SigningKey {
    id: Option<String>,
    /// The algorithm that the provider names for it, if it names one.
    algorithm: Option<String>,
    material: KeyMaterial,
}

#[derive(Clone, Debug)]
enum KeyMaterial {
    Rsa {
        modulus: Vec<u8>,
        exponent: Vec<u8>,
    },
    /// The point, uncompressed.
    P256(Vec<u8>),
}

/// Why a signature is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SignatureProblem {
    /// It is no signed token.
    Form,
    /// It is signed in a way that is not accepted; not signed is one of them.
    Algorithm,
    /// The provider has no such key; it may have a new one.
    UnknownKey,
    /// Another key has signed it, or it was changed.
    Signature,
}

#[derive(Deserialize)]
struct TokenHead {
    alg: String,
    kid: Option<String>,
    /// Extensions that would have to be understood.
    crit: Option<Value>,
}

impl ProviderKeys {
    /// Reads the keys that can be used here; others are passed over.
    pub(super) fn read(document: &Value) -> ProviderKeys {
        let listed = document["keys"].as_array();
        let usable = listed.into_iter().flatten().filter_map(SigningKey::read);
        ProviderKeys(usable.collect())
    }

    /// Returns what a token claims, if one of these keys has signed it.
    pub(super) fn open(&self, token: &str) -> Result<Map<String, Value>, SignatureProblem> {
        if token.len() > TOKEN_BYTES_MAX {
            return Err(SignatureProblem::Form);
        }
        let parts: Vec<&str> = token.split('.').collect();
        let [head, body, signed] = parts.as_slice() else {
            return Err(SignatureProblem::Form);
        };
        let decoded = |part: &str| URL_SAFE_NO_PAD.decode(part).ok();
        let head_bytes = decoded(head).ok_or(SignatureProblem::Form)?;
        let head: TokenHead =
            serde_json::from_slice(&head_bytes).map_err(|_| SignatureProblem::Form)?;
        if head.crit.is_some() {
            return Err(SignatureProblem::Algorithm);
        }
        let signature = decoded(signed).ok_or(SignatureProblem::Form)?;
        let message = &token[..token.len() - parts[2].len() - 1];
        let key = self.find(&head)?;
        if !key.has_signed(message.as_bytes(), &signature) {
            return Err(SignatureProblem::Signature);
        }
        let claims = decoded(body).ok_or(SignatureProblem::Form)?;
        serde_json::from_slice(&claims).map_err(|_| SignatureProblem::Form)
    }

    fn find(&self, head: &TokenHead) -> Result<&SigningKey, SignatureProblem> {
        if !matches!(head.alg.as_str(), "RS256" | "ES256") {
            return Err(SignatureProblem::Algorithm);
        }
        let fits = |key: &&SigningKey| {
            let is_named = head.kid.is_none() || key.id == head.kid;
            is_named && key.signs(&head.alg)
        };
        let mut fitting = self.0.iter().filter(fits);
        match (fitting.next(), fitting.next()) {
            (Some(key), None) => Ok(key),
            // Without a name, one of several is not guessed.
            _ => Err(SignatureProblem::UnknownKey),
        }
    }
}

impl SigningKey {
    fn read(key: &Value) -> Option<SigningKey> {
        if key["use"] == "enc" {
            return None;
        }
        let bytes = |name: &str| URL_SAFE_NO_PAD.decode(key[name].as_str()?).ok();
        let material = match (key["kty"].as_str()?, key["crv"].as_str()) {
            ("RSA", _) => KeyMaterial::Rsa {
                modulus: bytes("n")?,
                exponent: bytes("e")?,
            },
            ("EC", Some("P-256")) => {
                let (x, y) = (bytes("x")?, bytes("y")?);
                KeyMaterial::P256([&[4], x.as_slice(), &y].concat())
            }
            _ => return None,
        };
        let text = |name: &str| key[name].as_str().map(str::to_owned);
        Some(SigningKey {
            id: text("kid"),
            algorithm: text("alg"),
            material,
        })
    }

    fn signs(&self, algorithm: &str) -> bool {
        let own = match self.material {
            KeyMaterial::Rsa { .. } => "RS256",
            KeyMaterial::P256(_) => "ES256",
        };
        let is_meant = self
            .algorithm
            .as_deref()
            .is_none_or(|meant| meant == algorithm);
        own == algorithm && is_meant
    }

    fn has_signed(&self, message: &[u8], signed: &[u8]) -> bool {
        let checked = match &self.material {
            KeyMaterial::Rsa { modulus, exponent } => {
                let key = RsaPublicKeyComponents {
                    n: modulus,
                    e: exponent,
                };
                key.verify(&signature::RSA_PKCS1_2048_8192_SHA256, message, signed)
            }
            KeyMaterial::P256(point) => {
                let key = UnparsedPublicKey::new(&signature::ECDSA_P256_SHA256_FIXED, point);
                key.verify(message, signed)
            }
        };
        checked.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use ring::rand::SystemRandom;
    use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
    use serde_json::json;

    use super::*;

    /// The token of RFC 7515, appendix A.2 (RS256), whose key is public.
    const RSA_TOKEN: &str = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFt\
        cGxlLmNvbS9pc19yb290Ijp0cnVlfQ.cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_\
        lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07\
        Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98\
        rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw";
    const RSA_MODULUS: &str = "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0\
        Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQ\
        OS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91\
        kzk2PAcDTW9gb54h4FRWyuXpoQ";

    fn rsa(alg: &str) -> Value {
        json!({ "kty": "RSA", "n": RSA_MODULUS, "e": "AQAB", "kid": "r", "alg": alg })
    }

    struct Signer(EcdsaKeyPair);

    impl Signer {
        fn new() -> Signer {
            let random = SystemRandom::new();
            let kind = &ECDSA_P256_SHA256_FIXED_SIGNING;
            let pair = EcdsaKeyPair::generate_pkcs8(kind, &random).unwrap();
            Signer(EcdsaKeyPair::from_pkcs8(kind, pair.as_ref(), &random).unwrap())
        }

        fn public(&self, id: &str) -> Value {
            let point = self.0.public_key().as_ref();
            let part = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
            json!({ "kty": "EC", "crv": "P-256", "kid": id, "x": part(&point[1..33]), "y": part(&point[33..]) })
        }

        fn sign(&self, head: &Value) -> String {
            let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
            let message = format!("{}.{}", part(head), part(&json!({ "sub": "ada" })));
            let signed = self
                .0
                .sign(&SystemRandom::new(), message.as_bytes())
                .unwrap();
            format!("{message}.{}", URL_SAFE_NO_PAD.encode(signed))
        }
    }

    #[track_caller]
    fn check(keys: &[Value], token: &str, expected: Result<(), SignatureProblem>) {
        let opened = ProviderKeys::read(&json!({ "keys": keys })).open(token);
        assert_eq!(opened.map(drop), expected, "{token}");
    }

    #[test]
    fn both_kinds_of_signatures_are_read() {
        check(&[rsa("RS256")], RSA_TOKEN, Ok(()));
        let (one, other) = (Signer::new(), Signer::new());
        let keys = [rsa("RS256"), one.public("one"), other.public("other")];
        let token = one.sign(&json!({ "alg": "ES256", "kid": "one" }));
        check(&keys, &token, Ok(()));
        check(&keys[..2], &one.sign(&json!({ "alg": "ES256" })), Ok(()));
    }

    #[test]
    fn tokens_without_a_signature_of_the_provider_are_refused() {
        use SignatureProblem::{Algorithm, Form, Signature, UnknownKey};
        let (one, other) = (Signer::new(), Signer::new());
        let keys = [rsa("RS256"), one.public("one")];
        let none = one.sign(&json!({ "alg": "none", "kid": "one" }));
        check(&keys, &none, Err(Algorithm));
        let unsigned = format!("{}.", none.rsplit_once('.').unwrap().0);
        check(&keys, &unsigned, Err(Algorithm));
        // A public key is no secret that a token could be signed with.
        check(
            &keys,
            &one.sign(&json!({ "alg": "HS256", "kid": "r" })),
            Err(Algorithm),
        );
        check(
            &keys,
            &one.sign(&json!({ "alg": "RS256", "kid": "r" })),
            Err(Signature),
        );
        check(
            &keys,
            &one.sign(&json!({ "alg": "RS256", "kid": "one" })),
            Err(UnknownKey),
        );
        check(
            &keys,
            &other.sign(&json!({ "alg": "ES256", "kid": "one" })),
            Err(Signature),
        );
        check(
            &keys,
            &other.sign(&json!({ "alg": "ES256", "kid": "new" })),
            Err(UnknownKey),
        );
        let two = [one.public("one"), other.public("other")];
        check(&two, &one.sign(&json!({ "alg": "ES256" })), Err(UnknownKey));
        let extended = json!({ "alg": "ES256", "kid": "one", "crit": ["b64"], "b64": false });
        check(&keys, &one.sign(&extended), Err(Algorithm));
        check(&[rsa("PS256")], RSA_TOKEN, Err(UnknownKey));
        let mut changed = RSA_TOKEN.to_owned();
        changed.replace_range(40..41, "X");
        check(&[rsa("RS256")], &changed, Err(Signature));
        for text in ["", "a.b", "a.b.c", "....", "e30.e30.e30"] {
            check(&keys, text, Err(Form));
        }
        check(&keys, &"a".repeat(TOKEN_BYTES_MAX + 1), Err(Form));
    }

    #[test]
    fn keys_for_other_uses_are_passed_over() {
        let mut secret = rsa("RS256");
        secret["use"] = json!("enc");
        for key in [
            secret,
            json!({ "kty": "oct", "k": "AAAA" }),
            json!(null),
            json!({ "kty": "RSA" }),
        ] {
            check(&[key], RSA_TOKEN, Err(SignatureProblem::UnknownKey));
        }
    }
}
