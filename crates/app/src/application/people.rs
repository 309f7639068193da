//! Users, agents, their tokens and sessions, with who may see and change them.

use std::time::Duration;

use store::{AccessToken, NewToken, SessionId, TokenId, TokenSecret, WebSession};

use super::UseCases;
use super::access::Permission;
use super::sign_in::{later_ms, random_bytes};
use crate::people::{Slug, User, UserFilter, UserRole, explained};
use crate::{AppErrorCode, Error};

/// Largest number of sessions in a list.
const SESSIONS_MAX: usize = 1_000;

/// A token to make.
#[derive(Clone, Debug)]
pub struct TokenRequest {
    /// The user it belongs to.
    pub user: Slug,
    /// Its purpose.
    pub name: String,
    /// The most it allows.
    pub role: UserRole,
    /// Words that narrow it further, such as `runs` or `tasks.read`; empty means all that the role may.
    pub scopes: Vec<String>,
    /// For how long it can be used; nothing for a token that does not end.
    pub life: Option<Duration>,
}

impl UseCases {
    /// Lists people, agents or both, by slug.
    pub async fn users(&self, who: UserFilter) -> Result<Vec<User>, Error> {
        self.permit(Permission::Look)?;
        self.app().register().list(who).await
    }

    /// Returns the user of this slug.
    pub async fn user(&self, slug: &Slug, who: UserFilter) -> Result<User, Error> {
        self.permit(Permission::Look)?;
        self.app().register().find(slug, who).await
    }

    /// Adds a person or an agent.
    pub async fn add_user(&self, user: &User) -> Result<User, Error> {
        self.permit(Permission::ManagePeople)?;
        self.app().register().add(self.project(), user).await
    }

    /// Keeps an edited user, if their revision is still the newest. The last admin stays one.
    pub async fn edit_user(&self, user: &User) -> Result<User, Error> {
        self.permit(Permission::ManagePeople)?;
        let register = self.app().register();
        if user.role != UserRole::Admin || !user.is_active {
            let everybody = register.list(UserFilter::People).await?;
            let is_admin = |one: &&User| one.role == UserRole::Admin && one.is_active;
            let mut admins = everybody.iter().filter(is_admin);
            let only = admins.next().filter(|_| admins.next().is_none());
            if only.is_some_and(|only| only.slug == user.slug) {
                let message = format!("`{}` is the only admin left", user.slug);
                return Err(Error::new(AppErrorCode::Conflict, message)
                    .hint("make another person an admin first"));
            }
        }
        register.edit(user).await
    }

    /// Makes a token and returns it with its secret, which is shown this once.
    pub async fn add_token(
        &self,
        wish: &TokenRequest,
    ) -> Result<(AccessToken, TokenSecret), Error> {
        self.permit_for(&wish.user)?;
        if wish.role.lower(self.actor().role()) != wish.role {
            let message = format!(
                "a {} cannot make a token for {}",
                self.actor().role().as_str(),
                wish.role.as_str()
            );
            return Err(Error::new(AppErrorCode::Forbidden, message).hint("choose a lower role"));
        }
        let secret = TokenSecret::new(random_bytes()?);
        let new = NewToken {
            user: wish.user.clone(),
            name: wish.name.clone(),
            role: wish.role,
            expires_ms: wish.life.map(later_ms),
            scopes: wish.scopes.clone(),
        };
        let added = self.app().tokens().add_token(&new, &secret).await;
        Ok((added.map_err(explained)?, secret))
    }

    /// Lists the tokens of one user, or of all: the newest first.
    pub async fn tokens(&self, user: Option<&Slug>) -> Result<Vec<AccessToken>, Error> {
        match user {
            Some(user) => self.permit_for(user)?,
            None => self.permit(Permission::ManageAccess)?,
        }
        let listed = self.app().tokens().tokens(user).await;
        listed.map_err(explained)
    }

    /// Returns the slug of the actor, where they are a user.
    pub fn own_slug(&self) -> Option<Slug> {
        self.actor().name().parse().ok()
    }

    /// Revokes a token, for good.
    pub async fn revoke_token(&self, id: TokenId) -> Result<AccessToken, Error> {
        let tokens = self.app().tokens();
        if self.permit(Permission::ManageAccess).is_err() {
            let own = match self.own_slug() {
                Some(slug) => tokens.tokens(Some(&slug)).await.map_err(explained)?,
                None => Vec::new(),
            };
            if !own.iter().any(|token| token.id == id) {
                // The token of another is not even said to be there.
                let message = format!("there is no token {id}");
                return Err(Error::new(AppErrorCode::NotFound, message));
            }
        }
        tokens.revoke_token(id).await.map_err(explained)
    }

    /// Lists the sessions of one user, or of all.
    pub async fn sessions(&self, user: Option<&Slug>) -> Result<Vec<WebSession>, Error> {
        match user {
            Some(user) => self.permit_for(user)?,
            None => self.permit(Permission::ManageAccess)?,
        }
        let listed = self.app().ports().sessions(user, SESSIONS_MAX).await;
        listed.map_err(explained)
    }

    /// Ends a session, one's own or as an admin another's.
    pub async fn end_session(&self, id: SessionId) -> Result<(), Error> {
        if self.permit(Permission::ManageAccess).is_err() {
            let own = match self.own_slug() {
                Some(slug) => self.sessions(Some(&slug)).await?,
                None => Vec::new(),
            };
            if !own.iter().any(|session| session.id == id) {
                let message = format!("there is no session {id}");
                return Err(Error::new(AppErrorCode::NotFound, message));
            }
        }
        let ended = self.app().ports().end_session(id).await;
        ended.map_err(explained)
    }

    /// Refuses changes to the access of others, unless the actor manages access.
    fn permit_for(&self, user: &Slug) -> Result<(), Error> {
        match self.actor().name() == user.as_str() {
            true => self.permit(Permission::Look),
            false => self.permit(Permission::ManageAccess),
        }
    }
}
