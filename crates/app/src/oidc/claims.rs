//! The claims of a provider about a person, and the role that follows from them.

use serde_json::{Map, Value};
use store::UserRole;

use super::{not_believed, refused, wrong};
use crate::Error;
use crate::settings::OidcSettings;

/// How far the provider's clock may be off.
const SKEW_SECONDS_MAX: i64 = 60;
/// The longest name that a provider may have for a person (OpenID Connect Core, section 2).
const SUBJECT_CHARS_MAX: usize = 255;

/// A person as a provider knows them. The issuer and the subject together are the identity. A mail address
/// is not: it may be given to another person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalIdentity {
    pub issuer: String,
    pub subject: String,
    /// The address, unless the provider says that it was not checked.
    pub email: Option<String>,
    /// The name that people read.
    pub name: Option<String>,
    /// A short name that the person has there.
    pub short_name: Option<String>,
    /// The role that the provider's claim gives.
    pub role: Option<UserRole>,
    /// The role of who is new here, where no claim gives one.
    pub first_role: Option<UserRole>,
    /// True if a person without a role by a claim has none.
    pub is_role_by_claim: bool,
}

/// The roles that the values of a claim give.
#[derive(Clone, Debug)]
pub(super) struct RoleRules {
    claim: Option<String>,
    rules: Vec<(String, UserRole)>,
    first: Option<UserRole>,
}

impl RoleRules {
    pub(super) fn read(settings: &OidcSettings) -> Result<RoleRules, Error> {
        let rule = |text: &String| {
            let (value, role) = text.rsplit_once('=')?;
            let role = UserRole::ALL
                .into_iter()
                .find(|known| known.as_str() == role.trim())?;
            Some((value.trim().to_owned(), role))
        };
        let read = settings.roles.iter().map(|text| {
            rule(text).ok_or_else(|| {
                wrong(format!("`{text}` in `oidc.roles` gives no role"))
                    .hint("write `staff=operator`: a value of the claim, and admin, operator, reviewer or viewer")
            })
        });
        let rules: Vec<_> = read.collect::<Result<_, _>>()?;
        if settings.role_claim.is_none() && !rules.is_empty() {
            return Err(wrong("`oidc.roles` needs `oidc.role_claim`".to_owned())
                .hint("name the claim whose values it lists, such as `groups`"));
        }
        Ok(RoleRules {
            claim: settings.role_claim.clone(),
            rules,
            first: settings.default_role,
        })
    }

    pub(super) fn claim(&self) -> Option<&str> {
        self.claim.as_deref()
    }

    /// The highest role that a value gives: a text, or a list of them.
    fn role_of(&self, value: Option<&Value>) -> Option<UserRole> {
        let values: Vec<&str> = match value {
            Some(Value::String(text)) => text.split_whitespace().chain([text.as_str()]).collect(),
            Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        let fits = |role: &UserRole| {
            let mut rules = self.rules.iter().filter(|(_, given)| given == role);
            rules.any(|(value, _)| values.contains(&value.as_str()))
        };
        // The roles are in order from the highest to the lowest.
        UserRole::ALL.into_iter().find(fits)
    }
}

/// The values that a good token has.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExpectedClaims<'a> {
    pub(super) issuer: &'a str,
    pub(super) client: &'a str,
    pub(super) nonce: &'a str,
    pub(super) now_seconds: i64,
}

/// The claims of a token whose signature is good.
#[derive(Clone, Debug)]
pub(super) struct TokenClaims(Map<String, Value>);

impl TokenClaims {
    /// Takes claims that are meant for this client and this sign-in, at this time.
    pub(super) fn believe(
        claims: Map<String, Value>,
        expected: &ExpectedClaims<'_>,
    ) -> Result<TokenClaims, Error> {
        let ExpectedClaims {
            issuer,
            client,
            nonce,
            now_seconds,
        } = *expected;
        let text = |name: &str| claims.get(name).and_then(Value::as_str);
        let time = |name: &str| claims.get(name).and_then(Value::as_f64);
        let check =
            |is_good: bool, reason: &str| is_good.then_some(()).ok_or_else(|| not_believed(reason));
        check(text("iss") == Some(issuer), "it is by another issuer (iss)")?;
        let meant_for: Vec<&str> = match claims.get("aud") {
            Some(Value::String(one)) => vec![one],
            Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        check(
            meant_for.contains(&client),
            "it is for another client (aud)",
        )?;
        let is_for_one = meant_for.len() == 1 && !claims.contains_key("azp");
        check(
            is_for_one || text("azp") == Some(client),
            "it was given to another client (azp)",
        )?;
        let (now, skew) = (now_seconds as f64, SKEW_SECONDS_MAX as f64);
        check(
            time("exp").is_some_and(|exp| exp > now - skew),
            "it is too old (exp)",
        )?;
        check(
            time("iat").is_some_and(|iat| iat < now + skew),
            "it is from the future (iat)",
        )?;
        check(
            time("nbf").is_none_or(|nbf| nbf < now + skew),
            "it is not good yet (nbf)",
        )?;
        check(
            text("nonce") == Some(nonce),
            "it is the answer to another sign-in (nonce)",
        )?;
        let subject = text("sub").unwrap_or_default();
        let is_name = !subject.is_empty() && subject.chars().count() <= SUBJECT_CHARS_MAX;
        check(is_name, "it names no person (sub)")?;
        Ok(TokenClaims(claims))
    }

    pub(super) fn subject(&self) -> &str {
        self.text("sub").unwrap_or_default()
    }

    fn text(&self, name: &str) -> Option<&str> {
        let text = self.0.get(name).and_then(Value::as_str);
        text.filter(|text| !text.trim().is_empty())
    }

    /// Returns true if something is not there that a person is described by.
    pub(super) fn lacks(&self, role_claim: Option<&str>) -> bool {
        let wanted = ["email", "name"].into_iter().chain(role_claim);
        wanted.into_iter().any(|name| !self.0.contains_key(name))
    }

    /// Adds claims that the token does not have.
    pub(super) fn add(&mut self, more: Map<String, Value>) {
        for (name, value) in more {
            self.0.entry(name).or_insert(value);
        }
    }

    pub(super) fn identity(
        &self,
        issuer: &str,
        rules: &RoleRules,
    ) -> Result<ExternalIdentity, Error> {
        // Some providers write the word.
        let is_checked = match self.0.get("email_verified") {
            Some(Value::Bool(is_checked)) => *is_checked,
            Some(Value::String(word)) => word != "false",
            _ => true,
        };
        let email = self.text("email").filter(|_| is_checked);
        let role = rules.role_of(rules.claim().and_then(|claim| self.0.get(claim)));
        let name = self
            .text("name")
            .or_else(|| self.text("preferred_username"));
        let identity = ExternalIdentity {
            issuer: issuer.to_owned(),
            subject: self.subject().to_owned(),
            email: email.map(str::to_owned),
            name: name.map(str::to_owned),
            short_name: self.text("preferred_username").map(str::to_owned),
            role: role.or(rules.first.filter(|_| rules.claim.is_some())),
            first_role: rules.first,
            is_role_by_claim: rules.claim.is_some(),
        };
        if identity.is_role_by_claim && identity.role.is_none() {
            return Err(
                refused("the sign-in provider gives this account no role here")
                    .hint("ask an admin: `oidc.roles` says which values give one"),
            );
        }
        Ok(identity)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: i64 = 1_800_000_000;

    fn good() -> Value {
        json!({
            "iss": "https://id.example.org", "aud": "drawloom", "sub": "248", "nonce": "n",
            "exp": NOW + 300, "iat": NOW,
        })
    }

    fn believe(claims: &Value) -> Result<TokenClaims, Error> {
        let expected = ExpectedClaims {
            issuer: "https://id.example.org",
            client: "drawloom",
            nonce: "n",
            now_seconds: NOW,
        };
        TokenClaims::believe(claims.as_object().unwrap().clone(), &expected)
    }

    /// Claims that differ from good ones in one thing, and the claim that the refusal names.
    #[test]
    fn claims_that_are_not_for_this_sign_in_are_refused() {
        believe(&good()).unwrap();
        for (name, value, named) in [
            ("iss", json!("https://id.example.org/"), "(iss)"),
            ("iss", json!(null), "(iss)"),
            ("aud", json!("other"), "(aud)"),
            ("aud", json!([]), "(aud)"),
            ("aud", json!(["drawloom", "other"]), "(azp)"),
            ("azp", json!("other"), "(azp)"),
            ("exp", json!(NOW - 61), "(exp)"),
            ("exp", json!("tomorrow"), "(exp)"),
            ("exp", json!(null), "(exp)"),
            ("iat", json!(NOW + 61), "(iat)"),
            ("nbf", json!(NOW + 61), "(nbf)"),
            ("nonce", json!("m"), "(nonce)"),
            ("nonce", json!(null), "(nonce)"),
            ("sub", json!(""), "(sub)"),
            ("sub", json!(7), "(sub)"),
            ("sub", json!("x".repeat(256)), "(sub)"),
        ] {
            let mut claims = good();
            claims[name] = value;
            let refused = believe(&claims).unwrap_err().to_string();
            assert!(refused.contains(named), "{claims}: {refused}");
        }
        for (name, value) in [
            ("aud", json!(["drawloom"])),
            ("azp", json!("drawloom")),
            ("exp", json!(NOW - 59)),
            ("iat", json!(NOW + 59)),
        ] {
            let mut claims = good();
            claims[name] = value;
            believe(&claims).unwrap();
        }
    }

    fn rules(claim: Option<&str>, roles: &[&str], first: Option<UserRole>) -> RoleRules {
        RoleRules::read(&OidcSettings {
            role_claim: claim.map(str::to_owned),
            roles: roles.iter().map(|role| (*role).to_owned()).collect(),
            default_role: first,
            ..OidcSettings::default()
        })
        .unwrap()
    }

    #[test]
    fn the_highest_role_of_a_claim_counts() {
        let roles = ["staff=operator", "a=b=viewer", "boss=admin"];
        for (groups, first, expected) in [
            (json!(["staff", "boss"]), None, Some(UserRole::Admin)),
            (json!(["staff"]), None, Some(UserRole::Operator)),
            (json!("staff other"), None, Some(UserRole::Operator)),
            (json!("a=b"), None, Some(UserRole::Viewer)),
            (json!(["Staff", 7]), None, None),
            (json!(null), None, None),
            (
                json!(["strange"]),
                Some(UserRole::Viewer),
                Some(UserRole::Viewer),
            ),
        ] {
            let mut claims = good();
            claims["groups"] = groups.clone();
            let identity = believe(&claims).unwrap();
            let identity = identity.identity("i", &rules(Some("groups"), &roles, first));
            assert_eq!(identity.ok().and_then(|one| one.role), expected, "{groups}");
        }
    }

    #[test]
    fn an_address_that_was_not_checked_is_left_out() {
        for (checked, expected) in [
            (json!(true), Some("ada@example.org")),
            (json!(null), Some("ada@example.org")),
            (json!(false), None),
            (json!("false"), None),
        ] {
            let mut claims = good();
            claims["email"] = json!("ada@example.org");
            claims["email_verified"] = checked;
            let identity = believe(&claims)
                .unwrap()
                .identity("i", &rules(None, &[], None));
            assert_eq!(identity.unwrap().email.as_deref(), expected);
        }
    }

    #[test]
    fn rules_that_give_no_role_are_named() {
        for (claim, rule) in [
            (Some("groups"), "staff"),
            (Some("groups"), "staff=king"),
            (None, "a=viewer"),
        ] {
            let read = RoleRules::read(&OidcSettings {
                role_claim: claim.map(str::to_owned),
                roles: vec![rule.to_owned()],
                ..OidcSettings::default()
            });
            assert!(
                read.unwrap_err().to_string().contains("oidc.roles"),
                "{rule}"
            );
        }
    }
}
