//! The loopback of a new network namespace, which is down when it is made.

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

const RTM_NEWLINK: u16 = 16;
const REQUEST_AND_ACKNOWLEDGE: u16 = 1 | 4;
const LOOPBACK: i32 = 1;
const IFF_UP: u32 = 1;
/// The header's bytes, after which an answer has its error number.
const HEADER_BYTES: usize = 16;

pub(super) fn raise_loopback() -> std::io::Result<()> {
    let socket = rustix::net::socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        // The protocol 0: links, addresses and routes.
        None,
    )?;
    rustix::net::sendto(
        &socket,
        &request(),
        SendFlags::empty(),
        &SocketAddrNetlink::new(0, 0),
    )?;
    let mut answer = [0; 256];
    let (count, _) = rustix::net::recv(&socket, &mut answer[..], RecvFlags::empty())?;
    let error = answer[..count].get(HEADER_BYTES..HEADER_BYTES + 4);
    match error
        .and_then(|bytes| bytes.try_into().ok())
        .map(i32::from_ne_bytes)
    {
        Some(0) => Ok(()),
        Some(error) => Err(std::io::Error::from_raw_os_error(-error)),
        None => Err(std::io::ErrorKind::InvalidData.into()),
    }
}

/// Encodes the netlink request "set link number 1 up".
fn request() -> Vec<u8> {
    let mut bytes = Vec::with_capacity(2 * HEADER_BYTES);
    bytes.extend((2 * HEADER_BYTES as u32).to_ne_bytes());
    bytes.extend(RTM_NEWLINK.to_ne_bytes());
    bytes.extend(REQUEST_AND_ACKNOWLEDGE.to_ne_bytes());
    // Its number and the sender: the only one.
    bytes.extend([0; 8]);
    // The family, padding and the kind of the link: unspecified.
    bytes.extend([0; 4]);
    bytes.extend(LOOPBACK.to_ne_bytes());
    bytes.extend(IFF_UP.to_ne_bytes());
    bytes.extend(IFF_UP.to_ne_bytes());
    bytes
}
