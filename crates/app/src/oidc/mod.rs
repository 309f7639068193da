//! Signing in with an OpenID Connect provider: authorization code with PKCE, discovery, and a checked ID token.
//!
//! The server keeps no state between the two halves of a sign-in: a cookie in the browser that began it has the
//! values of the second half, so that a sign-in cannot end in another browser.
//!
//! By hand, because the crate `openidconnect` brings RSA, elliptic curves and big numbers of its own beside those
//! of `ring`, which is there already for TLS.

mod claims;
mod keys;
mod provider;

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::Url;
use sha2::{Digest as _, Sha256};

use crate::application::sign_in::random_bytes;
use crate::settings::OidcSettings;
use crate::{AppErrorCode, Error, ProcessEnvironment};

pub use claims::ExternalIdentity;
use claims::RoleRules;
use provider::ProviderConnection;

/// Where the provider sends people back to, from the server's address.
pub const RETURN_PATH: &str = "/login/oidc/callback";

/// A provider that people may sign in with.
#[derive(Clone)]
pub struct OidcProvider {
    shared: Arc<SharedProvider>,
}

impl fmt::Debug for OidcProvider {
    /// Writes the issuer, and no secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OidcProvider({})", self.shared.connection.issuer())
    }
}

struct SharedProvider {
    settings: OidcSettings,
    roles: RoleRules,
    connection: ProviderConnection,
}

/// The first half of a sign-in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignInDeparture {
    /// Where the browser goes.
    pub address: String,
    /// The value that the browser keeps until it comes back.
    pub kept: String,
}

/// The values that the browser brings back.
#[derive(Clone, Copy, Debug)]
pub struct SignInReturn<'a> {
    /// The value that it has kept.
    pub kept: &'a str,
    pub state: &'a str,
    pub code: &'a str,
}

/// The three random words of one sign-in.
struct SignInWords {
    state: String,
    nonce: String,
    verifier: String,
}

impl SignInWords {
    fn new() -> Result<SignInWords, Error> {
        let word = || random_bytes().map(|bytes| URL_SAFE_NO_PAD.encode(bytes));
        Ok(SignInWords {
            state: word()?,
            nonce: word()?,
            verifier: word()?,
        })
    }

    fn read(kept: &str) -> Option<SignInWords> {
        let words: Vec<&str> = kept.split('.').collect();
        let [state, nonce, verifier] = words.as_slice() else {
            return None;
        };
        let is_whole = |word: &&str| word.len() == 43;
        words.iter().all(is_whole).then(|| SignInWords {
            state: (*state).to_owned(),
            nonce: (*nonce).to_owned(),
            verifier: (*verifier).to_owned(),
        })
    }
}

impl OidcProvider {
    /// Makes the provider of the settings; `None` if they name none.
    ///
    /// # Errors
    ///
    /// When the settings do not fit each other, or the secret is not where they say.
    pub fn of_settings(
        settings: &OidcSettings,
        surroundings: &ProcessEnvironment,
    ) -> Result<Option<OidcProvider>, Error> {
        let Some(issuer) = &settings.issuer else {
            return Ok(None);
        };
        let parsed = Url::parse(issuer).ok().filter(is_safe);
        let url = parsed.ok_or_else(|| {
            wrong(format!(
                "`oidc.issuer` is `{issuer}`, and not an https address"
            ))
            .hint("write it as the provider's own configuration has it")
        })?;
        let client = settings.client.clone().ok_or_else(|| {
            wrong("`oidc.issuer` needs `oidc.client_id`".to_owned())
                .hint("register this server at the provider, which then gives it an id")
        })?;
        let secret = secret(settings, surroundings)?;
        let roles = RoleRules::read(settings)?;
        Ok(Some(OidcProvider {
            shared: Arc::new(SharedProvider {
                settings: settings.clone(),
                roles,
                connection: ProviderConnection::new(issuer.clone(), url, client, secret)?,
            }),
        }))
    }

    /// The name that the button has.
    pub fn label(&self) -> &str {
        let label = self.shared.settings.label.as_deref();
        label.unwrap_or("single sign-on")
    }

    /// Begins a sign-in; `origin` is the server's own address.
    pub async fn depart(&self, origin: &str) -> Result<SignInDeparture, Error> {
        let words = SignInWords::new()?;
        let shared = &self.shared;
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(words.verifier.as_bytes()));
        let mut address = shared.connection.entrance().await?;
        address
            .query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", shared.connection.client())
            .append_pair("redirect_uri", &return_address(origin))
            .append_pair("scope", &shared.settings.scopes.join(" "))
            .append_pair("state", &words.state)
            .append_pair("nonce", &words.nonce)
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256");
        Ok(SignInDeparture {
            address: address.to_string(),
            kept: [words.state, words.nonce, words.verifier].join("."),
        })
    }

    /// Ends a sign-in: exchanges the code and checks who it is about.
    pub async fn arrive(
        &self,
        origin: &str,
        came: SignInReturn<'_>,
    ) -> Result<ExternalIdentity, Error> {
        let kept = SignInWords::read(came.kept).filter(|words| words.state == came.state);
        let words = kept.ok_or_else(|| {
            refused("this sign-in was not begun in this browser, or too long ago")
                .hint("begin again at /login")
        })?;
        let shared = &self.shared;
        let exchanged = shared
            .connection
            .exchange(came.code, &words.verifier, &return_address(origin))
            .await?;
        let mut claims = shared
            .connection
            .check(&exchanged.id_token, &words.nonce)
            .await?;
        let wanted = shared.roles.claim();
        if claims.lacks(wanted) {
            let more = shared.connection.more_claims(&exchanged, claims.subject());
            claims.add(more.await?);
        }
        claims.identity(shared.connection.issuer(), &shared.roles)
    }
}

/// A provider is reached by https, or on this machine.
fn is_safe(url: &Url) -> bool {
    let is_local = matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
    url.scheme() == "https" || (url.scheme() == "http" && is_local)
}

fn secret(
    settings: &OidcSettings,
    surroundings: &ProcessEnvironment,
) -> Result<Option<String>, Error> {
    let text = match (&settings.secret_file, &settings.secret_env) {
        (Some(_), Some(_)) => {
            let message =
                "`oidc.client_secret_file` and `oidc.client_secret_env` exclude each other";
            return Err(wrong(message.to_owned()));
        }
        (Some(file), None) => {
            let expanded = surroundings.user_folders.expand(std::slice::from_ref(file));
            let place = surroundings.path(expanded.first().unwrap_or(file));
            let text = workspace::fs::read_text(&place)?;
            let absent = || {
                wrong(format!(
                    "there is no file {} (`oidc.client_secret_file`)",
                    place.display()
                ))
            };
            Some(text.ok_or_else(absent)?)
        }
        (None, Some(name)) => {
            let absent = || {
                wrong(format!(
                    "the variable {name} is not set (`oidc.client_secret_env`)"
                ))
            };
            Some(surroundings.variable(name).ok_or_else(absent)?)
        }
        (None, None) => None,
    };
    Ok(text.map(|text| text.trim().to_owned()))
}

fn return_address(origin: &str) -> String {
    format!("{origin}{RETURN_PATH}")
}

fn wrong(message: String) -> Error {
    Error::new(AppErrorCode::Settings, message)
}

/// The error of a sign-in that is not let in.
fn refused(message: impl Into<String>) -> Error {
    Error::new(AppErrorCode::Forbidden, message)
}

/// The error of an answer that cannot be believed.
fn not_believed(reason: &str) -> Error {
    refused(format!(
        "the sign-in provider's answer is not believed: {reason}"
    ))
}
