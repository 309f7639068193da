//! MCP ⇄ use cases: lets agents run recipes, workflows and builds through the Model Context Protocol.
//!
//! The protocol itself is `rmcp`'s, for clients of both eras on one endpoint. [`DrawloomServer`] lists the
//! tools of the sets that are switched on and calls the use cases of one actor. It decides nothing: the
//! permissions, budgets and trust of the application hold for agents as for every user.
//!
//! [`serve_stdio`] has one client on stdin and stdout; [`McpEndpoint`] answers the requests of many over HTTP,
//! each with the permissions of its own token.
//!
//! An agent that starts a run is not the one who approves it. A step for people stays with people, and
//! the result says where a person answers.

mod endpoint;
mod failure;
mod http_caller;
mod http_server;
mod long_result;
mod prompts;
mod resources;
mod server;
mod start_values;
mod tool_set;
mod tools;

pub use endpoint::{EndpointLimits, McpEndpoint, TooManySessions};
pub use http_caller::HttpCaller;
pub use http_server::HttpToolServer;
pub use rmcp::ServerHandler;
pub use server::{DrawloomServer, serve_stdio};
pub use tool_set::ToolSet;
