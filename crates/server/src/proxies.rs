//! Proxies in front of the server: whose word about a client is believed, and what follows from it.
//!
//! Every request passes here first. Behind this place `Host` is the name that the client asked for,
//! `ConnectInfo` has the client's address, and `X-Forwarded-Proto` is the server's own word: it is there,
//! and `https`, only for a client that came by https. Values that others have written are removed.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use app::IpNetwork;
use app::settings::ForwardedKind;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;
use tokio::sync::Notify;

use crate::state::ServerState;

/// The server's own word about the scheme of a request.
const SCHEME_HEADER: &str = "x-forwarded-proto";
/// Headers that clients and proxies may send, and that no code behind this place reads.
const FORWARDED_HEADERS: [&str; 5] = [
    "forwarded",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-port",
    SCHEME_HEADER,
];

/// The proxies that are believed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustedProxies {
    networks: Vec<IpNetwork>,
    kind: ForwardedKind,
}

/// A connection that is encrypted up to this process; it is told when something is asked on it.
#[derive(Clone, Debug)]
pub(crate) struct EncryptedConnection(pub(crate) Arc<Notify>);

/// A proxy's statement about its own client.
#[derive(Debug, Default, PartialEq, Eq)]
struct ProxyWord {
    client: Option<IpAddr>,
    host: Option<String>,
    scheme: Option<String>,
}

impl TrustedProxies {
    /// Reads a list of addresses and networks; the error is the entry that is neither.
    pub fn read(list: &[String], kind: ForwardedKind) -> Result<TrustedProxies, String> {
        let networks = list
            .iter()
            .map(|entry| IpNetwork::read(entry.trim()).ok_or_else(|| entry.clone()));
        Ok(TrustedProxies {
            networks: networks.collect::<Result<_, _>>()?,
            kind,
        })
    }

    fn trusts(&self, address: IpAddr) -> bool {
        self.networks.iter().any(|network| network.holds(address))
    }

    /// Finds out who asks: from the connection outwards, for as long as the teller is trusted. The first
    /// one that is not trusted is the client. Of the scheme and the host the outermost word counts.
    fn client_of(&self, headers: &HeaderMap, peer: IpAddr) -> ProxyWord {
        let mut known = ProxyWord {
            client: Some(peer),
            ..ProxyWord::default()
        };
        let mut teller = peer;
        let words = match self.kind {
            ForwardedKind::Separate => separate_words(headers),
            ForwardedKind::Standard => standard_words(headers),
        };
        for word in words.into_iter().rev() {
            if !self.trusts(teller) {
                break;
            }
            known.host = word.host.or(known.host);
            known.scheme = word.scheme.or(known.scheme);
            match word.client {
                Some(client) => (known.client, teller) = (Some(client), client),
                // Without a readable address, nothing further out is known.
                None => break,
            }
        }
        known
    }

    /// Leaves in a request only what is true of its client.
    fn settle(&self, request: &mut Request) {
        let encrypted = request.extensions().get::<EncryptedConnection>();
        if let Some(EncryptedConnection(asked)) = encrypted {
            asked.notify_one();
        }
        let is_encrypted = encrypted.is_some();
        let connection = request.extensions().get::<ConnectInfo<SocketAddr>>();
        let peer = connection.map(|ConnectInfo(peer)| *peer);
        let known = peer
            .map(|peer| self.client_of(request.headers(), peer.ip()))
            .unwrap_or_default();
        let headers = request.headers_mut();
        for name in FORWARDED_HEADERS {
            headers.remove(name);
        }
        let is_https = known
            .scheme
            .map_or(is_encrypted, |scheme| scheme.eq_ignore_ascii_case("https"));
        if is_https {
            headers.insert(SCHEME_HEADER, HeaderValue::from_static("https"));
        }
        if let Some(host) = known.host
            && let Ok(host) = HeaderValue::from_str(&host)
        {
            headers.insert(header::HOST, host);
        }
        if let Some((peer, client)) = peer.zip(known.client)
            && peer.ip() != client
        {
            // The port of a client is not told.
            let client = SocketAddr::new(client, 0);
            request.extensions_mut().insert(ConnectInfo(client));
        }
    }
}

/// Finds out who asks, before anything looks at the request.
pub(crate) async fn arrive(
    State(state): State<ServerState>,
    mut request: Request,
    next: Next,
) -> Response {
    state.shared.proxies.settle(&mut request);
    next.run(request).await
}

/// Returns whether a request that has arrived came by https.
pub(crate) fn came_by_https(headers: &HeaderMap) -> bool {
    headers.contains_key(SCHEME_HEADER)
}

/// `X-Forwarded-For: client, proxy` and its relatives, one word for each proxy. Where a list is shorter,
/// its last entries are those of the last proxies.
fn separate_words(headers: &HeaderMap) -> Vec<ProxyWord> {
    let clients = listed(headers, "x-forwarded-for");
    let hosts = listed(headers, "x-forwarded-host");
    let schemes = listed(headers, SCHEME_HEADER);
    let count = clients.len().max(1);
    let from_right = |list: &[String], at: usize| {
        let at = (list.len() + at).checked_sub(count)?;
        list.get(at).filter(|text| !text.is_empty()).cloned()
    };
    let word = |at| ProxyWord {
        client: from_right(&clients, at).and_then(|text| address_in(&text)),
        host: from_right(&hosts, at),
        scheme: from_right(&schemes, at),
    };
    (0..count).map(word).collect()
}

/// `Forwarded: for=client;proto=https;host=name, for=proxy` (RFC 7239).
fn standard_words(headers: &HeaderMap) -> Vec<ProxyWord> {
    let all = headers.get_all("forwarded").into_iter();
    let texts = all.filter_map(|value| value.to_str().ok());
    let elements = texts.flat_map(|text| split_outside_quotes(text, ','));
    let word = |element: String| {
        let mut word = ProxyWord::default();
        for pair in split_outside_quotes(&element, ';') {
            let Some((name, value)) = pair.split_once('=') else {
                continue;
            };
            let value = unquoted(value.trim());
            match name.trim().to_ascii_lowercase().as_str() {
                "for" => word.client = address_in(&value),
                "host" => word.host = Some(value),
                "proto" => word.scheme = Some(value),
                _ => {}
            }
        }
        word
    };
    elements.map(word).collect()
}

/// The entries of a list that may be spread over several headers.
fn listed(headers: &HeaderMap, name: &str) -> Vec<String> {
    let all = headers.get_all(name).into_iter();
    let texts = all.map(|value| value.to_str().unwrap_or_default());
    let entries = texts.flat_map(|text| text.split(','));
    entries.map(|entry| entry.trim().to_owned()).collect()
}

/// Reads `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]` or `[2001:db8::1]:80`.
fn address_in(text: &str) -> Option<IpAddr> {
    let bare = text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    let alone = bare.unwrap_or(text).parse::<IpAddr>();
    let with_port = || text.parse::<SocketAddr>().map(|address| address.ip());
    let address = alone.or_else(|_| with_port()).ok()?;
    Some(address.to_canonical())
}

fn split_outside_quotes(text: &str, mark: char) -> Vec<String> {
    let mut parts = vec![String::new()];
    let (mut is_quoted, mut is_escaped) = (false, false);
    for c in text.chars() {
        if c == mark && !is_quoted {
            parts.push(String::new());
            continue;
        }
        (is_quoted, is_escaped) = match c {
            '"' if !is_escaped => (!is_quoted, false),
            '\\' if is_quoted && !is_escaped => (is_quoted, true),
            _ => (is_quoted, false),
        };
        if let Some(last) = parts.last_mut() {
            last.push(c);
        }
    }
    parts
}

fn unquoted(text: &str) -> String {
    let inner = text
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    let Some(inner) = inner else {
        return text.to_owned();
    };
    let mut plain = String::new();
    let mut characters = inner.chars();
    while let Some(c) = characters.next() {
        plain.extend(match c {
            '\\' => characters.next(),
            c => Some(c),
        });
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a request with these headers becomes: the client, the host, and the scheme.
    fn check(proxies: &[&str], kind: ForwardedKind, sent: &[(&'static str, &str)], expected: &str) {
        let proxies: Vec<String> = proxies.iter().map(|entry| (*entry).to_owned()).collect();
        let proxies = TrustedProxies::read(&proxies, kind).unwrap();
        let mut request = Request::new(axum::body::Body::empty());
        let peer: SocketAddr = "10.0.0.1:5000".parse().unwrap();
        request.extensions_mut().insert(ConnectInfo(peer));
        let headers = request.headers_mut();
        headers.insert(header::HOST, HeaderValue::from_static("own"));
        for (name, value) in sent {
            headers.append(*name, value.parse().unwrap());
        }
        proxies.settle(&mut request);
        let client = request.extensions().get::<ConnectInfo<SocketAddr>>();
        let headers = request.headers();
        let scheme = match came_by_https(headers) {
            true => "https",
            false => "http",
        };
        let host = headers[header::HOST].to_str().unwrap();
        let found = format!("{} {host} {scheme}", client.unwrap().0.ip());
        assert_eq!(found, expected, "{sent:?}");
        let left = FORWARDED_HEADERS.map(|name| headers.get_all(name).into_iter().count());
        assert!(left[..4].iter().all(|count| *count == 0), "{headers:?}");
    }

    const FOR: &str = "x-forwarded-for";
    const HOST: &str = "x-forwarded-host";
    const PROTO: &str = "x-forwarded-proto";
    const ONE: &[&str] = &["10.0.0.1"];
    const TWO: &[&str] = &["10.0.0.0/8"];

    #[test]
    fn forwarded_headers_are_ignored_unless_the_settings_name_the_proxy() {
        let lie = [
            (FOR, "127.0.0.1"),
            (HOST, "evil"),
            (PROTO, "https"),
            ("forwarded", "for=127.0.0.1;host=evil;proto=https"),
        ];
        for proxies in [&[] as &[&str], &["10.0.0.2"], &["192.168.0.0/16", "::1"]] {
            for kind in [ForwardedKind::Separate, ForwardedKind::Standard] {
                check(proxies, kind, &lie, "10.0.0.1 own http");
            }
        }
    }

    #[test]
    fn a_trusted_proxy_tells_of_its_client() {
        let told: [(&[(&'static str, &str)], &str); 12] = [
            (&[(FOR, "192.0.2.7")], "192.0.2.7 own http"),
            (&[(FOR, "192.0.2.7:99")], "192.0.2.7 own http"),
            (&[(FOR, "2001:db8::7")], "2001:db8::7 own http"),
            (&[(FOR, "[2001:db8::7]:99")], "2001:db8::7 own http"),
            (&[(FOR, "::ffff:192.0.2.7")], "192.0.2.7 own http"),
            // The client's own entry is on the left.
            (&[(FOR, "127.0.0.1, 192.0.2.7")], "192.0.2.7 own http"),
            (
                &[(FOR, "127.0.0.1"), (FOR, "192.0.2.7")],
                "192.0.2.7 own http",
            ),
            (&[(FOR, "nonsense")], "10.0.0.1 own http"),
            (&[(PROTO, "https"), (HOST, "name")], "10.0.0.1 name https"),
            (&[(PROTO, "http, https")], "10.0.0.1 own https"),
            (&[(PROTO, "https, http")], "10.0.0.1 own http"),
            // The other kind is what the client wrote.
            (
                &[("forwarded", "for=127.0.0.1;proto=https")],
                "10.0.0.1 own http",
            ),
        ];
        for (sent, expected) in told {
            check(ONE, ForwardedKind::Separate, sent, expected);
        }
    }

    #[test]
    fn a_chain_is_believed_as_far_as_it_is_trusted() {
        let told: [(&[(&'static str, &str)], &str); 4] = [
            (&[(FOR, "192.0.2.7, 10.0.0.2")], "192.0.2.7 own http"),
            (
                &[(FOR, "127.0.0.1, 192.0.2.7, 10.0.0.2")],
                "192.0.2.7 own http",
            ),
            (
                &[(FOR, "192.0.2.7, 10.0.0.2"), (PROTO, "https, http")],
                "192.0.2.7 own https",
            ),
            (
                &[(FOR, "192.0.2.7, 10.0.0.2"), (PROTO, "https")],
                "192.0.2.7 own https",
            ),
        ];
        for (sent, expected) in told {
            check(TWO, ForwardedKind::Separate, sent, expected);
        }
    }

    #[test]
    fn the_standard_header_is_read_with_its_quotes() {
        for (sent, expected) in [
            (
                "for=192.0.2.7;proto=https;host=name",
                "192.0.2.7 name https",
            ),
            (
                "For=\"[2001:db8::7]:99\";Proto=HTTPS",
                "2001:db8::7 own https",
            ),
            ("for=127.0.0.1, for=192.0.2.7", "192.0.2.7 own http"),
            (
                "for=\"a,b;c\\\"d\", for=192.0.2.7;host=\"n\"",
                "192.0.2.7 n http",
            ),
            ("for=unknown;proto=https", "10.0.0.1 own https"),
            ("for=_hidden", "10.0.0.1 own http"),
            (";;=,\"", "10.0.0.1 own http"),
        ] {
            check(
                ONE,
                ForwardedKind::Standard,
                &[("forwarded", sent)],
                expected,
            );
        }
    }

    #[test]
    fn an_entry_that_is_not_an_address_is_named() {
        for wrong in ["proxy.example.org", "10.0.0.0/33", "10.0.0.1:80", ""] {
            let list = ["10.0.0.1".to_owned(), wrong.to_owned()];
            let read = TrustedProxies::read(&list, ForwardedKind::Separate);
            assert_eq!(read, Err(wrong.to_owned()));
        }
    }
}
