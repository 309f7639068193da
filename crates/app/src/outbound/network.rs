//! Networks of addresses, as settings list them.

use std::net::IpAddr;

/// A network such as `10.0.0.0/8`, or one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpNetwork {
    address: IpAddr,
    /// How many bits at the beginning all addresses share.
    bits: u8,
}

impl IpNetwork {
    /// Reads `127.0.0.1`, `::1`, `[::1]`, `10.0.0.0/8` or `fd00::/8`; `None` for anything else.
    pub fn read(text: &str) -> Option<IpNetwork> {
        let bare = text
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'));
        if let Ok(ip) = bare.unwrap_or(text).parse::<IpAddr>() {
            return Some(IpNetwork::of(ip));
        }
        let (ip, bits) = text.split_once('/')?;
        let (address, bits) = (ip.parse::<IpAddr>().ok()?, bits.parse::<u8>().ok()?);
        (bits <= width(address)).then_some(IpNetwork { address, bits })
    }

    /// The network of one address.
    pub fn of(address: IpAddr) -> IpNetwork {
        let address = address.to_canonical();
        let bits = width(address);
        IpNetwork { address, bits }
    }

    /// Returns true if an address belongs to this network. An IPv4 address that is written as an IPv6
    /// one counts as IPv4.
    pub fn holds(&self, ip: IpAddr) -> bool {
        let ip = ip.to_canonical();
        let number = |ip: IpAddr| match ip {
            IpAddr::V4(ip) => u128::from(ip.to_bits()) << 96,
            IpAddr::V6(ip) => ip.to_bits(),
        };
        let mask = u128::MAX
            .checked_shl(128 - u32::from(self.bits))
            .unwrap_or(0);
        ip.is_ipv4() == self.address.is_ipv4() && number(ip) & mask == number(self.address) & mask
    }
}

fn width(ip: IpAddr) -> u8 {
    if ip.is_ipv4() { 32 } else { 128 }
}
