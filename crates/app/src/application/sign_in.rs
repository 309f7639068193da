//! Signing in: claiming a fresh server, passwords, sessions, and the tokens of programs.
//!
//! Each person or program that signs in becomes an [`Actor`]; the table of permissions decides what
//! it may do.

use std::sync::Arc;
use std::time::Duration;

use agent::AgentClock as _;
use store::{
    AuditOutcome, ClaimProof, LinkPurpose, NewAuditEntry, NewLink, TokenBearer, TokenCheck,
};
use store::{NewSession, OneTimeLink, OpaqueSecret, SessionCheck, SessionId, TokenSecret};
use store::{ProjectKeys, TokenStore, UserStore, WebSession};

use super::access::Actor;
use super::passwords::PlainPassword;
use super::ports::ServerPorts;
use crate::people::{Slug, User, UserKind, UserRole, explained};
use crate::tasks::clock::SystemClock;
use crate::{AppErrorCode, Error};

/// For how long a claim link can be used; every start makes a new one.
const CLAIM_LINK_LIFE: Duration = Duration::from_hours(24);
/// For how long a link that sets a new password can be used.
const RESET_LINK_LIFE: Duration = Duration::from_hours(2);
/// For how long a session lasts at most.
pub const SESSION_LIFE: Duration = Duration::from_hours(24 * 30);
/// For how long a session may be idle.
pub const SESSION_IDLE_MAX: Duration = Duration::from_hours(24 * 7);

/// The door through which people and programs come in.
#[derive(Clone)]
pub struct AccessControl {
    pub(super) ports: Arc<dyn ServerPorts>,
    pub(super) tokens: Arc<dyn TokenStore>,
    pub(super) users: Arc<dyn UserStore>,
    pub(super) keys: Arc<dyn ProjectKeys>,
}

/// The browser and the address that a sign-in came from.
#[derive(Clone, Debug, Default)]
pub struct ClientPlace {
    /// The browser, as it calls itself.
    pub user_agent: String,
    /// The address of the connection.
    pub address: String,
}

/// A session that has begun.
#[derive(Debug)]
pub struct SignedIn {
    /// The secret for the cookie.
    pub secret: OpaqueSecret,
    /// The person.
    pub user: User,
    /// The session.
    pub session: WebSession,
}

impl AccessControl {
    /// Returns whether the server has an owner.
    pub async fn is_claimed(&self) -> Result<bool, Error> {
        self.ports.is_claimed().await.map_err(explained)
    }

    /// Makes a link that claims a fresh server; `None` if the server has an owner.
    pub async fn make_claim_link(&self) -> Result<Option<OpaqueSecret>, Error> {
        if self.is_claimed().await? {
            return Ok(None);
        }
        let link = NewLink {
            purpose: LinkPurpose::Claim,
            user: None,
            expires_ms: later_ms(CLAIM_LINK_LIFE),
        };
        let secret = new_secret()?;
        let added = self.ports.add_link(&link, &secret).await;
        added.map_err(explained)?;
        Ok(Some(secret))
    }

    /// Makes a link with which a person sets a new password.
    pub async fn make_reset_link(&self, user: &Slug) -> Result<OpaqueSecret, Error> {
        let link = NewLink {
            purpose: LinkPurpose::PasswordReset,
            user: Some(user.clone()),
            expires_ms: later_ms(RESET_LINK_LIFE),
        };
        let secret = new_secret()?;
        self.ports
            .add_link(&link, &secret)
            .await
            .map_err(explained)?;
        self.note("operator", ("links.reset", user.as_str()), None)
            .await;
        Ok(secret)
    }

    /// Returns the link with this secret, if it can still be used. Looking does not use it up.
    pub async fn find_link(&self, secret: &str) -> Result<Option<OneTimeLink>, Error> {
        let Ok(secret) = secret.parse::<OpaqueSecret>() else {
            return Ok(None);
        };
        self.ports.usable_link(&secret).await.map_err(explained)
    }

    /// Claims a fresh server with the secret of its link. Of two people at once one succeeds.
    pub async fn claim(&self, secret: &str, email: &str, password: &str) -> Result<User, Error> {
        let link = self.find_link(secret).await?;
        let is_claim = link.is_some_and(|link| link.purpose == LinkPurpose::Claim);
        let Ok(secret) = secret.parse::<OpaqueSecret>() else {
            return Err(used_up());
        };
        if !is_claim {
            return Err(used_up());
        }
        let claimed = self.claim_as(ClaimProof::Link(&secret), email, password);
        claimed.await
    }

    /// Claims a fresh server for its operator; returns `None` if it has an owner already.
    pub async fn claim_by_operator(
        &self,
        email: &str,
        password: &str,
    ) -> Result<Option<User>, Error> {
        if self.is_claimed().await? {
            return Ok(None);
        }
        let claimed = self.claim_as(ClaimProof::Operator, email, password);
        claimed.await.map(Some)
    }

    async fn claim_as(
        &self,
        proof: ClaimProof<'_>,
        email: &str,
        password: &str,
    ) -> Result<User, Error> {
        let owner = new_owner(email)?;
        owner.check().map_err(explained)?;
        let hash = PlainPassword::chosen(password, email)?.hash().await?;
        let claimed = self.ports.claim_server(proof, &owner, &hash).await;
        let claimed = claimed.map_err(explained)?;
        let slug = claimed.slug.as_str();
        self.note(slug, ("server.claim", ""), None).await;
        Ok(claimed)
    }

    /// Gives a person a password; their sessions end.
    pub async fn set_password(&self, user: &User, password: &str) -> Result<(), Error> {
        let email = user.email().unwrap_or_default();
        let hash = PlainPassword::chosen(password, email)?.hash().await?;
        let kept = self.ports.set_password(&user.slug, &hash).await;
        kept.map_err(explained)
    }

    /// Sets a new password with the secret of a link and returns its user.
    pub async fn reset_password(&self, secret: &str, password: &str) -> Result<Slug, Error> {
        let Ok(secret) = secret.parse::<OpaqueSecret>() else {
            return Err(used_up());
        };
        let hash = PlainPassword::chosen(password, "")?.hash().await?;
        let reset = self.ports.reset_password(&secret, &hash).await;
        let user = reset.map_err(explained)?;
        self.note(user.as_str(), ("password.reset", user.as_str()), None)
            .await;
        Ok(user)
    }

    /// Begins a session for a person who knows the password. The refusal does not tell which of the two is wrong.
    pub async fn sign_in(
        &self,
        email: &str,
        password: &str,
        place: &ClientPlace,
    ) -> Result<SignedIn, Error> {
        let found = self.ports.person_with_email(email).await;
        let user = found.map_err(explained)?.filter(|user| user.is_active);
        let hash = match &user {
            Some(user) => self.ports.password(&user.slug).await.map_err(explained)?,
            None => None,
        };
        let fits = PlainPassword::given(password)
            .matches(hash.as_ref())
            .await?;
        let Some(user) = user.filter(|_| fits) else {
            let outcome = Some((AuditOutcome::Refused, place));
            self.note("nobody", ("session.begin", email), outcome).await;
            let message = "the address or the password is wrong";
            return Err(Error::new(AppErrorCode::Forbidden, message)
                .hint("`drawloom users reset-password NAME` prints a link that sets a new one"));
        };
        self.begin_session(user, place).await
    }

    /// Begins a session for a person who was let in.
    pub async fn begin_session(&self, user: User, place: &ClientPlace) -> Result<SignedIn, Error> {
        let new = NewSession {
            user: user.slug.clone(),
            expires_ms: later_ms(SESSION_LIFE),
            idle_ms_max: span_ms(SESSION_IDLE_MAX),
            user_agent: place.user_agent.clone(),
            address: place.address.clone(),
        };
        let secret = new_secret()?;
        let begun = self.ports.begin_session(&new, &secret).await;
        let session = begun.map_err(explained)?;
        let outcome = Some((AuditOutcome::Done, place));
        self.note(user.slug.as_str(), ("session.begin", ""), outcome)
            .await;
        Ok(SignedIn {
            secret,
            user,
            session,
        })
    }

    /// Returns the session and the person of a cookie.
    pub async fn find_session(&self, secret: &str) -> Result<Option<(WebSession, User)>, Error> {
        let Ok(secret) = secret.parse::<OpaqueSecret>() else {
            return Ok(None);
        };
        let checked = self.ports.check_session(&secret).await;
        let SessionCheck::Granted { session, user } = checked.map_err(explained)? else {
            return Ok(None);
        };
        // A request is not refused because its time could not be noted.
        let _ = self.ports.note_session_use(session.id).await;
        Ok(Some((*session, *user)))
    }

    /// Ends a session.
    pub async fn end_session(&self, session: SessionId) -> Result<(), Error> {
        self.ports.end_session(session).await.map_err(explained)
    }

    /// Returns the user that a token belongs to.
    pub async fn find_bearer(&self, secret: &str) -> Result<Option<TokenBearer>, Error> {
        let Ok(secret) = secret.parse::<TokenSecret>() else {
            return Ok(None);
        };
        let admitted = self.tokens.admit(&secret).await.map_err(explained)?;
        let TokenCheck::Granted(bearer) = admitted else {
            return Ok(None);
        };
        let _ = self.tokens.note_token_use(bearer.token).await;
        Ok(Some(*bearer))
    }

    /// Writes a line of the audit log. If the line cannot be written, the action is not undone.
    pub async fn note(
        &self,
        actor: &str,
        (action, object): (&str, &str),
        outcome: Option<(AuditOutcome, &ClientPlace)>,
    ) {
        let place = outcome.map(|(_, place)| place.address.clone());
        let entry = NewAuditEntry {
            actor: actor.to_owned(),
            action: action.to_owned(),
            object: object.to_owned(),
            outcome: outcome.map_or(AuditOutcome::Done, |(outcome, _)| outcome),
            detail: String::new(),
            address: place.unwrap_or_default(),
        };
        let _ = self.ports.add_audit_entry(&entry).await;
    }
}

/// Refuses what the scopes of a token leave out. `runs` lets all of runs, `runs.read` looking only; without
/// scopes a token lets all that its role may do.
pub fn check_scope(scopes: &[String], resource: &str, is_reading: bool) -> Result<(), Error> {
    let reading = format!("{resource}.read");
    let fits = |scope: &String| {
        scope == resource || (is_reading && (*scope == reading || scope == "read"))
    };
    match scopes.is_empty() || scopes.iter().any(fits) {
        true => Ok(()),
        false => {
            let message = format!("the scopes of this token leave out `{resource}`");
            let hint = "use a token with that scope, or one without scopes";
            Err(Error::new(AppErrorCode::Forbidden, message).hint(hint))
        }
    }
}

/// Makes the actor of a program that speaks MCP with a user's token. It is an agent, even if a person owns the
/// token: an agent with a person's token must not answer for that person.
pub fn agent_of(actor: &Actor) -> Actor {
    match actor {
        Actor::Agent { .. } => actor.clone(),
        Actor::Terminal { .. } | Actor::Person { .. } => Actor::Agent {
            name: format!("mcp:{}", actor.name()),
            role: actor.role(),
        },
    }
}

/// Makes the actor of a user, with a role that may be lower than their own.
pub fn actor_of(user: &User, role: UserRole) -> Actor {
    let name = user.slug.to_string();
    let role = user.role.lower(role);
    match user.is_agent() {
        true => Actor::Agent { name, role },
        false => Actor::Person { name, role },
    }
}

/// Makes the owner of a fresh server, named by the address.
fn new_owner(email: &str) -> Result<User, Error> {
    let local = email.split('@').next().unwrap_or_default();
    let slug = slug_of(local, "owner");
    Ok(User {
        slug: slug.parse().map_err(explained)?,
        display_name: slug,
        role: UserRole::Admin,
        is_active: true,
        nature: UserKind::Person {
            email: email.to_owned(),
        },
        revision: 0,
        created_ms: 0,
        updated_ms: 0,
    })
}

/// Makes a slug from a name; the other one where the name has no letter that fits.
pub(super) fn slug_of(name: &str, other: &str) -> String {
    let words: Vec<String> = name
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
        .collect();
    let mut slug = words.join("-");
    slug.truncate(store::SLUG_CHARS_MAX);
    match slug.trim_matches('-') {
        "" => other.to_owned(),
        slug => slug.to_owned(),
    }
}

fn new_secret() -> Result<OpaqueSecret, Error> {
    Ok(OpaqueSecret::new(random_bytes()?))
}

pub(crate) fn random_bytes() -> Result<[u8; 32], Error> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|cause| {
        let message = format!("the system gives no random bytes: {cause}");
        Error::new(AppErrorCode::Command, message)
    })?;
    Ok(bytes)
}

pub(super) fn later_ms(span: Duration) -> u64 {
    SystemClock.now_ms().saturating_add(span_ms(span))
}

fn span_ms(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

fn used_up() -> Error {
    Error::new(
        AppErrorCode::NotFound,
        "this link is used, too old, or was cut off",
    )
    .hint("a new start of the server prints a new link; `drawloom users reset-password NAME` too")
}
