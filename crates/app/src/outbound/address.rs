//! The address rule: loopback, private and link-local addresses may be reached only if the settings
//! list them. The rule checks the address of the connection, never a name.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::IpNetwork;

/// The addresses beside the public ones that may be reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AddressRule {
    allowed: Vec<AllowedAddress>,
}

/// An entry of the list: a network or a name, on one port or on all.
#[derive(Clone, Debug, PartialEq, Eq)]
struct AllowedAddress {
    what: AddressPattern,
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum AddressPattern {
    Network(IpNetwork),
    Name(String),
}

impl AddressRule {
    /// Reads `127.0.0.1`, `127.0.0.1:8080`, `10.0.0.0/8`, `[::1]:80`, `fd00::/8` and `name[:port]`.
    pub(crate) fn read(list: &[String]) -> Result<AddressRule, String> {
        let allowed = list.iter().map(|entry| {
            AllowedAddress::read(entry.trim()).ok_or_else(|| {
                format!(
                    "`{entry}` in `workflows.http.allow` is no address; write `127.0.0.1:8080`, \
                     `10.0.0.0/8`, `[::1]:80` or `name:port`."
                )
            })
        });
        let allowed = allowed.collect::<Result<_, _>>()?;
        Ok(AddressRule { allowed })
    }

    /// Returns true if a connection to this address, which was resolved from this name, may be
    /// made.
    pub(crate) fn permits(&self, host: &str, address: SocketAddr) -> bool {
        is_public(address.ip()) || self.allowed.iter().any(|entry| entry.covers(host, address))
    }
}

impl AllowedAddress {
    fn read(entry: &str) -> Option<AllowedAddress> {
        if let Ok(address) = entry.parse::<SocketAddr>() {
            return Some(AllowedAddress {
                what: AddressPattern::Network(IpNetwork::of(address.ip())),
                port: Some(address.port()),
            });
        }
        if let Some(network) = IpNetwork::read(entry) {
            return Some(AllowedAddress {
                what: AddressPattern::Network(network),
                port: None,
            });
        }
        if entry.contains('/') {
            return None;
        }
        let (name, port) = match entry.split_once(':') {
            Some((name, port)) => (name, Some(port.parse().ok()?)),
            None => (entry, None),
        };
        let is_name = !name.is_empty()
            && name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_'));
        is_name.then(|| AllowedAddress {
            what: AddressPattern::Name(name.to_ascii_lowercase()),
            port,
        })
    }

    fn covers(&self, host: &str, address: SocketAddr) -> bool {
        if self.port.is_some_and(|port| port != address.port()) {
            return false;
        }
        match &self.what {
            AddressPattern::Name(name) => host.trim_end_matches('.').eq_ignore_ascii_case(name),
            AddressPattern::Network(network) => network.holds(address.ip()),
        }
    }
}

/// Returns true if an address belongs to the public internet.
fn is_public(ip: IpAddr) -> bool {
    // An IPv4 address that is written as an IPv6 one counts as IPv4.
    match ip.to_canonical() {
        IpAddr::V4(ip) => is_public_v4(ip),
        IpAddr::V6(ip) => is_public_v6(ip),
    }
}

fn is_public_v4(ip: Ipv4Addr) -> bool {
    let [a, b, c, _] = ip.octets();
    let is_special = match (a, b) {
        (0 | 10 | 127, _) | (169, 254) | (192, 168) => true,
        (100, 64..=127) | (172, 16..=31) | (198, 18..=19) => true,
        (192, 0) => matches!(c, 0 | 2),
        (192, 88) => c == 99,
        (198, 51) => c == 100,
        (203, 0) => c == 113,
        // Multicast, reserved, broadcast.
        (224..=255, _) => true,
        _ => false,
    };
    !is_special
}

fn is_public_v6(ip: Ipv6Addr) -> bool {
    let [a, b, ..] = ip.segments();
    let inner = |high: u16, low: u16| Ipv4Addr::from_bits((u32::from(high) << 16) | u32::from(low));
    let segments = ip.segments();
    match a {
        // 6to4 and NAT64 lead to an IPv4 address. The local form of NAT64 (64:ff9b:1::/48) is for
        // networks of one's own.
        0x2002 => is_public_v4(inner(b, segments[2])),
        0x0064 if b == 0xff9b && segments[2..6] == [0; 4] => {
            is_public_v4(inner(segments[6], segments[7]))
        }
        // 2001::/23 is for protocols (Teredo, ORCHID, benchmarks); the others are for documentation.
        0x2001 if b < 0x0200 || b == 0xdb8 => false,
        0x3fff if b < 0x1000 => false,
        // Only 2000::/3 is given out: this leaves loopback, local, multicast and mapped ones out.
        _ => (0x2000..0x4000).contains(&a),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permits(list: &[&str], host: &str, address: &str) -> bool {
        let list: Vec<String> = list.iter().map(|entry| (*entry).to_owned()).collect();
        let rule = AddressRule::read(&list).unwrap();
        rule.permits(host, address.parse().unwrap())
    }

    #[test]
    fn only_public_addresses_are_reached_unasked() {
        for public in [
            "1.1.1.1:443",
            "8.8.8.8:80",
            "172.15.0.1:80",
            "172.32.0.1:80",
            "100.63.0.1:80",
            "192.0.1.1:80",
            "[2606:4700::1]:443",
            "[2001:4860:4860::8888]:443",
            "[2001:200::1]:443",
            "[::ffff:8.8.8.8]:80",
            "[64:ff9b::808:808]:80",
            "[2002:808:808::]:80",
        ] {
            assert!(permits(&[], "x", public), "{public}");
        }
        for local in [
            "127.0.0.1:80",
            "127.9.9.9:80",
            "0.0.0.0:80",
            "10.1.2.3:80",
            "172.16.0.1:80",
            "172.31.255.255:80",
            "192.168.1.1:80",
            "169.254.169.254:80",
            "100.64.0.1:80",
            "192.0.0.1:80",
            "198.18.0.1:80",
            "224.0.0.1:80",
            "255.255.255.255:80",
            "240.0.0.1:80",
            "[::]:80",
            "[::1]:80",
            "[fe80::1]:80",
            "[fc00::1]:80",
            "[fd12::1]:80",
            "[ff02::1]:80",
            "[::ffff:127.0.0.1]:80",
            "[::127.0.0.1]:80",
            "[::ffff:169.254.169.254]:80",
            "[64:ff9b::7f00:1]:80",
            "[2002:7f00:1::]:80",
            "[2001:db8::1]:80",
            "[2001::1]:80",
            "[2001:2::1]:80",
            "[2001:20::1]:80",
            "[3fff::1]:80",
            "[64:ff9b:1::7f00:1]:80",
            "[64:ff9b:1:7f00:0:100::]:80",
            "[64:ff9b:0:1::808:808]:80",
            "[::ffff:0:127.0.0.1]:80",
            "[5f00::1]:80",
            "[fec0::1]:80",
        ] {
            assert!(!permits(&[], "x", local), "{local}");
        }
    }

    #[test]
    fn a_list_allows_what_it_names() {
        for (entry, host, address, expected) in [
            ("127.0.0.1:8080", "x", "127.0.0.1:8080", true),
            ("127.0.0.1:8080", "x", "127.0.0.1:8081", false),
            ("127.0.0.1", "x", "127.0.0.1:8081", true),
            ("127.0.0.1", "x", "[::ffff:127.0.0.1]:1", true),
            ("127.0.0.1", "x", "127.0.0.2:1", false),
            ("10.0.0.0/8", "x", "10.9.9.9:1", true),
            ("10.0.0.0/8", "x", "172.16.0.1:1", false),
            ("[::1]:80", "x", "[::1]:80", true),
            ("fd00::/8", "x", "[fd12::1]:80", true),
            ("localhost:80", "LOCALHOST.", "127.0.0.1:80", true),
            ("localhost:80", "other", "127.0.0.1:80", false),
            ("0.0.0.0/0", "x", "10.0.0.1:1", true),
            ("0.0.0.0/0", "x", "[::1]:1", false),
        ] {
            assert_eq!(
                permits(&[entry], host, address),
                expected,
                "{entry} {host} {address}"
            );
        }
        for wrong in ["", "http://x", "10.0.0.0/33", "a b", "x:99999"] {
            assert!(AddressRule::read(&[wrong.to_owned()]).is_err(), "{wrong}");
        }
    }
}
