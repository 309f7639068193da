//! The caller of a request over HTTP: whom the server has let in, and what their token allows.

use app::{ClientPlace, UseCases};
use store::AuditOutcome;

/// A caller whom the server has let in. It travels with each request, so that a session gives nothing that the
/// token of the request does not.
#[derive(Clone)]
pub struct HttpCaller {
    /// The use cases of the agent behind the token.
    pub use_cases: UseCases,
    /// The key of the token: sessions and long results belong to it.
    pub key: String,
    /// The name of the caller in the audit log.
    pub audit_name: String,
    /// The scopes of the token; empty means all that its role may do.
    pub scopes: Vec<String>,
    /// The address and the program of the caller.
    pub place: ClientPlace,
}

impl HttpCaller {
    /// Writes a line of the audit log about a call that changes something.
    pub(crate) async fn note(&self, tool: &str, object: &str, outcome: AuditOutcome) {
        let access = self.use_cases.app().access_control();
        let action = format!("MCP {tool}");
        let place = Some((outcome, &self.place));
        access
            .note(&self.audit_name, (&action, object), place)
            .await;
    }
}
