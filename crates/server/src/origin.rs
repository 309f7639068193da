//! The address that the server is reached at, and requests that come from other sites.

use axum::http::{HeaderMap, Method, header};
use serde_json::json;

use crate::problem::{ApiProblem, ProblemCode};
use crate::proxies::came_by_https;

/// The address that browsers use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PublicAddress {
    /// Scheme, host and port, without a slash at the end.
    pub(crate) origin: String,
    /// The values of `Host` that are answered.
    hosts: Vec<String>,
}

impl PublicAddress {
    /// The loopback address with this port.
    pub(crate) fn local(port: u16) -> PublicAddress {
        let hosts = ["127.0.0.1", "localhost", "[::1]"];
        let mut hosts: Vec<String> = hosts.map(|host| format!("{host}:{port}")).to_vec();
        if port == 80 {
            hosts.extend(["127.0.0.1", "localhost", "[::1]"].map(str::to_owned));
        }
        PublicAddress {
            origin: format!("http://127.0.0.1:{port}"),
            hosts,
        }
    }

    /// The address in a URL such as `https://drawloom.example.org`; `None` if the text is no URL.
    pub(crate) fn read(url: &str) -> Option<PublicAddress> {
        let (scheme, rest) = url.split_once("://")?;
        let scheme = scheme.to_ascii_lowercase();
        let host = rest.strip_suffix('/').unwrap_or(rest).to_ascii_lowercase();
        let is_host = !host.is_empty()
            && host
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':' | '[' | ']'));
        if !is_host || !matches!(scheme.as_str(), "http" | "https") {
            return None;
        }
        let usual = match scheme.as_str() {
            "https" => ":443",
            _ => ":80",
        };
        let bare = host.strip_suffix(usual).unwrap_or(&host).to_owned();
        Some(PublicAddress {
            origin: format!("{scheme}://{bare}"),
            hosts: vec![bare.clone(), format!("{bare}{usual}")],
        })
    }

    /// Answers requests for a local address as well, such as those of a proxy's health check.
    #[must_use]
    pub(crate) fn and_local(mut self, port: u16) -> PublicAddress {
        self.hosts.extend(PublicAddress::local(port).hosts);
        self
    }

    /// The same with https.
    #[must_use]
    pub(crate) fn encrypted(mut self) -> PublicAddress {
        self.origin = self.origin.replacen("http://", "https://", 1);
        self
    }

    /// Returns whether browsers reach the server by `https`.
    pub(crate) fn is_secure(&self) -> bool {
        self.origin.starts_with("https://")
    }

    /// Returns whether the browser that sent this came by `https`.
    pub(crate) fn is_secure_for(&self, headers: &HeaderMap) -> bool {
        self.is_secure() || came_by_https(headers)
    }

    /// Returns whether that browser is told to keep to `https`. For a name of this machine it is not:
    /// every other server that it has there would be meant as well.
    pub(crate) fn insists_on_https(&self, headers: &HeaderMap) -> bool {
        let (_, host) = self.origin.split_once("://").unwrap_or_default();
        let is_local = ["127.0.0.1", "localhost", "[::1]"]
            .iter()
            .any(|name| host.strip_prefix(name).is_some_and(is_port_or_nothing));
        self.is_secure_for(headers) && !is_local
    }

    /// Refuses a request for another host: a page of another site could have renamed its own (DNS
    /// rebinding).
    pub(crate) fn check_host(
        &self,
        headers: &HeaderMap,
        authority: Option<&str>,
    ) -> Result<(), ApiProblem> {
        let named = headers
            .get(header::HOST)
            .and_then(|host| host.to_str().ok());
        let host = named.or(authority).unwrap_or_default().to_ascii_lowercase();
        if self.hosts.contains(&host) {
            return Ok(());
        }
        Err(ApiProblem::new(
            ProblemCode::WrongHost,
            "this server does not answer to the name in the header Host",
        )
        .with("host", json!(host))
        .hint("start it with `--public-url` and the name that people use"))
    }

    /// Refuses a change that a page of another site asks for. Programs send neither header.
    pub(crate) fn check_origin(
        &self,
        method: &Method,
        headers: &HeaderMap,
    ) -> Result<(), ApiProblem> {
        if method.is_safe() {
            return Ok(());
        }
        let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
        let is_own = match (text("sec-fetch-site"), text("origin")) {
            (Some(site), _) => matches!(site, "same-origin" | "none"),
            (None, Some(origin)) => self.is_own_origin(origin),
            (None, None) => true,
        };
        match is_own {
            true => Ok(()),
            false => Err(ApiProblem::new(
                ProblemCode::CrossSite,
                "a page of another site asked for this",
            )
            .hint("open the page of this server and do it there")),
        }
    }

    fn is_own_origin(&self, origin: &str) -> bool {
        let host = origin.split_once("://").map(|(_, host)| host);
        self.hosts
            .contains(&host.unwrap_or_default().to_ascii_lowercase())
    }
}

fn is_port_or_nothing(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with(':')
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn public_addresses_are_read() {
        for (url, origin) in [
            ("https://a.example.org", Some("https://a.example.org")),
            ("https://A.example.org:443/", Some("https://a.example.org")),
            ("http://[::1]:8080", Some("http://[::1]:8080")),
            ("ftp://a.example.org", None),
            ("https://a.example.org/path", None),
            ("https://user@a.example.org", None),
            ("a.example.org", None),
            ("https://", None),
        ] {
            let read = PublicAddress::read(url).map(|address| address.origin);
            assert_eq!(read.as_deref(), origin, "{url}");
        }
    }

    #[test]
    fn changes_that_other_sites_ask_for_are_refused() {
        let address = PublicAddress::local(7331);
        for (method, site, origin, is_taken) in [
            (Method::POST, None, None, true),
            (Method::POST, Some("same-origin"), None, true),
            (Method::POST, Some("none"), None, true),
            (Method::POST, Some("cross-site"), None, false),
            (Method::POST, Some("same-site"), None, false),
            (Method::DELETE, None, Some("http://127.0.0.1:7331"), true),
            (Method::DELETE, None, Some("http://evil.example"), false),
            (Method::DELETE, None, Some("null"), false),
            (
                Method::GET,
                Some("cross-site"),
                Some("http://evil.example"),
                true,
            ),
        ] {
            let mut headers = HeaderMap::new();
            for (name, value) in [("sec-fetch-site", site), ("origin", origin)] {
                if let Some(value) = value {
                    headers.insert(name, HeaderValue::from_static(value));
                }
            }
            let checked = address.check_origin(&method, &headers);
            assert_eq!(checked.is_ok(), is_taken, "{method} {site:?} {origin:?}");
        }
    }
}
