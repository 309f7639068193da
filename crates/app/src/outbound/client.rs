//! A client that connects only where the address rule allows, and follows no redirect to another
//! origin.
//!
//! Names are resolved here, and the addresses that pass are the ones connected to: a name that
//! answers differently the second time gains nothing. Proxies of the environment are not used, since
//! behind them the address cannot be known.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Client, Url, redirect};

use super::AddressRule;

/// Time limit of connecting.
const CONNECT_SECONDS_MAX: u64 = 10;
/// Limit on redirects within one origin.
const REDIRECTS_MAX: usize = 5;

/// Makes a client for one URL, or says why it may not be called.
pub(crate) fn prepare(url: &Url, rule: &AddressRule, timeout: Duration) -> Result<Client, String> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("`{}` is not http or https.", shown_url(url)));
    }
    let Some(port) = url.port_or_known_default() else {
        return Err(format!("`{}` has no port.", shown_url(url)));
    };
    // An address in the URL is used directly, whatever its spelling was.
    if let Some(ip) = address_in(url) {
        let address = SocketAddr::new(ip, port);
        let host = url.host_str().unwrap_or_default();
        if !rule.permits(host, address) {
            return Err(refusal(address));
        }
    }
    // Fails only when one is installed already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let origin = url.clone();
    let built = Client::builder()
        .no_proxy()
        .redirect(redirect::Policy::custom(move |attempt| {
            match attempt.previous().len() <= REDIRECTS_MAX
                && is_same_origin(&origin, attempt.url())
            {
                true => attempt.follow(),
                false => attempt.stop(),
            }
        }))
        .dns_resolver(Arc::new(CheckedResolver {
            rule: rule.clone(),
            port,
        }))
        .connect_timeout(Duration::from_secs(CONNECT_SECONDS_MAX))
        .timeout(timeout)
        .user_agent(concat!("drawloom/", env!("CARGO_PKG_VERSION")))
        .build();
    built.map_err(|cause| format!("TLS cannot be set up: {cause}."))
}

/// Returns true if two URLs have the same scheme, host and port.
pub(crate) fn is_same_origin(a: &Url, b: &Url) -> bool {
    a.origin() == b.origin()
}

/// Returns a URL without the user name and password in it.
pub(crate) fn shown_url(url: &Url) -> String {
    let mut shown = url.clone();
    // Both fail only for URLs that have no host, and so no password.
    let _ = shown.set_username("");
    let _ = shown.set_password(None);
    shown.to_string()
}

/// The reason why a call failed, down to its deepest cause. The caller takes the URL out first: it may
/// hold what is not for a log.
pub(crate) fn explained(cause: &reqwest::Error) -> String {
    let mut message = cause.to_string();
    let mut deeper = std::error::Error::source(cause);
    while let Some(one) = deeper {
        message.push_str(&format!(": {one}"));
        deeper = one.source();
    }
    message
}

/// Returns the address that a URL names instead of a host. The URL parser has converted forms such
/// as `0x7f000001` and `2130706433`.
fn address_in(url: &Url) -> Option<IpAddr> {
    let host = url.host_str()?;
    let host = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .unwrap_or(host);
    host.parse().ok()
}

fn refusal(address: SocketAddr) -> String {
    format!(
        "{address} is not a public address, and others are reached only where your own settings \
         list them: `[workflows.http] allow = [\"{address}\"]` in ~/.config/drawloom/config.toml, or \
         DRAWLOOM_WORKFLOWS_HTTP_ALLOW={address}."
    )
}

/// Resolves names to the addresses that the rule permits.
struct CheckedResolver {
    rule: AddressRule,
    port: u16,
}

impl Resolve for CheckedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (rule, port, host) = (self.rule.clone(), self.port, name.as_str().to_owned());
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((host.as_str(), port))
                .await?
                .collect();
            let permitted: Vec<SocketAddr> = found
                .iter()
                .copied()
                .filter(|address| rule.permits(&host, *address))
                .collect();
            match (permitted.is_empty(), found.first()) {
                (true, Some(address)) => Err(format!("`{host}` is {}", refusal(*address)).into()),
                _ => {
                    let addresses: Addrs = Box::new(permitted.into_iter());
                    Ok(addresses)
                }
            }
        })
    }
}
