//! People whom a provider identifies: found by issuer and subject, or added.

use sha2::{Digest as _, Sha256};
use store::{AuditOutcome, DatabaseErrorKind};

use super::sign_in::{AccessControl, ClientPlace, SignedIn};
use crate::oidc::ExternalIdentity;
use crate::people::{Slug, User, UserKind, UserRole, explained};
use crate::{AppErrorCode, Error};

/// How many short names are tried for a new person.
const NAMES_TRIED_MAX: usize = 50;

impl AccessControl {
    /// Begins a session for a person whom a provider identifies, and adds the person if the identity is new.
    /// An existing account with the same mail address is never used: an address may be given to another
    /// person, and not every provider checks it.
    pub async fn sign_in_external(
        &self,
        identity: &ExternalIdentity,
        place: &ClientPlace,
    ) -> Result<SignedIn, Error> {
        let user = match self.external_user(identity).await {
            Ok(user) if user.is_active => user,
            Ok(user) => {
                let refused = Some((AuditOutcome::Refused, place));
                self.note(user.slug.as_str(), ("session.begin", ""), refused)
                    .await;
                let message = "this account was deactivated";
                return Err(Error::new(AppErrorCode::Forbidden, message).hint("ask an admin"));
            }
            Err(error) => {
                let about = format!("{} {}", identity.issuer, identity.subject);
                let refused = Some((AuditOutcome::Refused, place));
                self.note("nobody", ("session.begin", &about), refused)
                    .await;
                return Err(error);
            }
        };
        self.begin_session(user, place).await
    }

    /// Makes a user the one whom the provider knows by this subject; refused where it is another already.
    async fn link_identity(
        &self,
        (issuer, subject): (&str, &str),
        user: &Slug,
    ) -> Result<(), Error> {
        let key = key_of(issuer, subject);
        let stored = self.keys.keep_project_key(&key, user.as_str()).await;
        let kept = stored.map_err(explained)?;
        if kept == user.as_str() {
            return Ok(());
        }
        let message = format!("the provider's `{subject}` is `{kept}` here already");
        Err(Error::new(AppErrorCode::Conflict, message))
    }

    async fn external_user(&self, identity: &ExternalIdentity) -> Result<User, Error> {
        let key = key_of(&identity.issuer, &identity.subject);
        let Some(linked) = self.keys.project_key(&key).await.map_err(explained)? else {
            return self.add_external(identity).await;
        };
        let slug: Slug = linked.parse().map_err(explained)?;
        let found = self.users.user(&slug).await.map_err(explained)?;
        let user = found.ok_or_else(|| {
            let message = format!("the account `{slug}` of this sign-in is gone");
            Error::new(AppErrorCode::Forbidden, message).hint("ask an admin")
        })?;
        match identity.role {
            Some(role) if identity.is_role_by_claim && role != user.role => {
                let changed = User { role, ..user };
                let edited = self.users.edit_user(&changed).await.map_err(explained)?;
                let about = format!("{} {}", edited.slug, role.as_str());
                self.note("provider", ("users.role", &about), None).await;
                Ok(edited)
            }
            _ => Ok(user),
        }
    }

    async fn add_external(&self, identity: &ExternalIdentity) -> Result<User, Error> {
        let role = identity.role.or(identity.first_role).ok_or_else(|| {
            Error::new(AppErrorCode::Forbidden, "this account has no role here")
                .hint("ask an admin: `oidc.default_role` gives one to all people of the provider")
        })?;
        if let Some(email) = &identity.email {
            let owner = self
                .ports
                .person_with_email(email)
                .await
                .map_err(explained)?;
            if owner.is_some() {
                return Err(address_taken(email));
            }
        }
        let mut tried = 0;
        let added = loop {
            let user = new_user(identity, role, tried)?;
            match self.users.add_user(&user).await {
                Ok(added) => break added,
                Err(error) if error.kind() == DatabaseErrorKind::Conflict => {
                    tried += 1;
                    // The same person, at the same moment in another window.
                    let key = key_of(&identity.issuer, &identity.subject);
                    let linked = self.keys.project_key(&key).await.map_err(explained)?;
                    if linked.is_some() || tried > NAMES_TRIED_MAX {
                        return Err(explained(error));
                    }
                }
                Err(error) => return Err(explained(error)),
            }
        };
        let about = (identity.issuer.as_str(), identity.subject.as_str());
        self.link_identity(about, &added.slug).await?;
        let object = format!("{} for {} {}", added.slug, about.0, about.1);
        self.note("provider", ("users.add", &object), None).await;
        Ok(added)
    }
}

/// The name under which the user of an identity is stored.
fn key_of(issuer: &str, subject: &str) -> String {
    let mut digest = Sha256::new();
    digest.update(issuer.as_bytes());
    // No issuer and no subject has a zero byte: two different pairs stay different.
    digest.update([0]);
    digest.update(subject.as_bytes());
    let bytes = digest.finalize();
    let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("identity {text}")
}

fn new_user(identity: &ExternalIdentity, role: UserRole, tried: usize) -> Result<User, Error> {
    let named = identity.short_name.as_deref().or(identity.email.as_deref());
    let mut slug = super::sign_in::slug_of(named.unwrap_or("person"), "person");
    if tried > 0 {
        let number = format!("-{}", tried + 1);
        slug.truncate(store::SLUG_CHARS_MAX.saturating_sub(number.len()));
        slug = format!("{}{number}", slug.trim_matches('-'));
    }
    // Every person has an address. Without a checked one, this one is the person's alone.
    let email = identity.email.clone().unwrap_or_else(|| {
        let key = key_of(&identity.issuer, &identity.subject);
        let digest: String = key.chars().skip("identity ".len()).take(16).collect();
        format!("{digest}@provider.invalid")
    });
    Ok(User {
        display_name: identity.name.clone().unwrap_or_else(|| slug.clone()),
        slug: slug.parse().map_err(explained)?,
        role,
        is_active: true,
        nature: UserKind::Person { email },
        revision: 0,
        created_ms: 0,
        updated_ms: 0,
    })
}

fn address_taken(email: &str) -> Error {
    let message = format!("{email} belongs to an account here already");
    Error::new(AppErrorCode::Conflict, message).hint("an admin changes the address of one of them")
}
