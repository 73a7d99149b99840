//! The schema of a reply: the part of JSON Schema that the API takes, and the check of a reply against it.
//!
//! Invariant: what the API does not take has no place in `SchemaPart`, so that a schema with it is refused before anything is
//! sent, and everything that is taken is also checked here.
//!
//! Source: the API's documentation of structured outputs; JSON Schema 2020-12.

mod check;
mod part;
mod reader;
mod schema;

pub use part::SchemaError;
pub use schema::ReplySchema;
