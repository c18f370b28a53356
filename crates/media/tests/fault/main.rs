//! Fault scripts: the language, each key and action on a medium, late media, and random scripts.

mod acts;
mod examples;
mod late;
mod matching;
mod properties;
mod script;
mod support;
