//! The keys of `[oidc]`: a provider that people sign in with.

use std::path::PathBuf;

use store::UserRole;

use super::keys::{SettingKey, SettingValueKind};

/// Everything `[oidc]` can say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OidcSettings {
    /// The provider's address, exactly as its tokens name it; without one, this way of signing in is off.
    pub issuer: Option<String>,
    /// The name of this server at the provider.
    pub client: Option<String>,
    /// The file, or the variable, that has its secret.
    pub secret_file: Option<PathBuf>,
    pub secret_env: Option<String>,
    pub scopes: Vec<String>,
    /// The claim whose values give roles.
    pub role_claim: Option<String>,
    /// Values and roles, such as `staff=operator`.
    pub roles: Vec<String>,
    /// The role where no value gives one; without it such people are not let in.
    pub default_role: Option<UserRole>,
    /// The words on the button.
    pub label: Option<String>,
}

impl Default for OidcSettings {
    fn default() -> Self {
        OidcSettings {
            issuer: None,
            client: None,
            secret_file: None,
            secret_env: None,
            scopes: ["openid", "profile", "email"].map(str::to_owned).to_vec(),
            role_claim: None,
            roles: Vec::new(),
            default_role: None,
            label: None,
        }
    }
}

/// The words for a role, and for none.
const ROLES: [&str; 5] = ["none", "viewer", "reviewer", "operator", "admin"];

pub(super) const KEYS: &[SettingKey] = &[
    SettingKey {
        section: "oidc",
        name: "issuer",
        kind: SettingValueKind::Text(|settings, text| settings.oidc.issuer = given(text)),
        about: &[
            "A provider of OpenID Connect that people sign in with, exactly as it calls itself.",
        ],
        default: r#""https://id.example.org/realms/main"  # for example"#,
    },
    SettingKey {
        section: "oidc",
        name: "client_id",
        kind: SettingValueKind::Text(|settings, text| settings.oidc.client = given(text)),
        about: &["The name of this server there."],
        default: r#""drawloom"  # for example"#,
    },
    SettingKey {
        section: "oidc",
        name: "client_secret_file",
        kind: SettingValueKind::Text(|settings, text| {
            settings.oidc.secret_file = given(text).map(PathBuf::from);
        }),
        about: &["The file with its secret, or"],
        default: r#""/etc/drawloom/oidc-secret"  # for example"#,
    },
    SettingKey {
        section: "oidc",
        name: "client_secret_env",
        kind: SettingValueKind::Text(|settings, text| settings.oidc.secret_env = given(text)),
        about: &["the variable that has it."],
        default: r#""OIDC_SECRET"  # for example"#,
    },
    SettingKey {
        section: "oidc",
        name: "scopes",
        kind: SettingValueKind::Texts(|settings, list| settings.oidc.scopes = list),
        about: &["What is asked for."],
        default: r#"["openid", "profile", "email"]"#,
    },
    SettingKey {
        section: "oidc",
        name: "role_claim",
        kind: SettingValueKind::Text(|settings, text| settings.oidc.role_claim = given(text)),
        about: &["The claim whose values give people their role, at every sign-in."],
        default: r#""groups"  # for example"#,
    },
    SettingKey {
        section: "oidc",
        name: "roles",
        kind: SettingValueKind::Texts(|settings, list| settings.oidc.roles = list),
        about: &["Values of that claim, and the role of each; the highest counts."],
        default: r#"["drawloom-admins=admin", "staff=operator"]  # for example"#,
    },
    SettingKey {
        section: "oidc",
        name: "default_role",
        kind: SettingValueKind::Choice(&ROLES, |settings, word| {
            settings.oidc.default_role = word.parse().ok();
        }),
        about: &["The role of people to whom no value gives one; \"none\" does not let them in."],
        default: r#""none""#,
    },
    SettingKey {
        section: "oidc",
        name: "label",
        kind: SettingValueKind::Text(|settings, text| settings.oidc.label = given(text)),
        about: &["What follows \"Sign in with\" on the page."],
        default: r#""single sign-on""#,
    },
];

/// An empty text, as of a variable that is set to nothing, says nothing.
fn given(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}
