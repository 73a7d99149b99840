//! The token of each scope of a syntax.

use std::collections::HashMap;
use std::str::FromStr as _;

use syntect::parsing::Scope;

use crate::theme::Token;

/// The beginnings of scopes that mean something; of several the longest counts.
const MEANINGS: [(&str, Token); 44] = [
    ("comment", Token::Comment),
    ("punctuation.definition.comment", Token::Comment),
    ("string", Token::Literal),
    ("punctuation.definition.string", Token::Literal),
    ("constant", Token::Constant),
    ("variable.other.constant", Token::Constant),
    ("keyword", Token::Keyword),
    ("keyword.operator", Token::Text),
    ("keyword.operator.word", Token::Keyword),
    ("keyword.operator.logical.python", Token::Keyword),
    ("storage", Token::Keyword),
    ("variable.language", Token::Keyword),
    ("support.macro", Token::Function),
    ("entity.name.function", Token::Function),
    ("entity.name.macro", Token::Function),
    ("variable.function", Token::Function),
    ("support.function", Token::Function),
    ("entity.name.type", Token::Type),
    ("entity.name.class", Token::Type),
    ("entity.name.struct", Token::Type),
    ("entity.name.enum", Token::Type),
    ("entity.name.trait", Token::Type),
    ("entity.name.interface", Token::Type),
    ("entity.name.union", Token::Type),
    ("entity.name.impl", Token::Type),
    ("entity.name.namespace", Token::Type),
    ("entity.name.module", Token::Type),
    ("entity.other.inherited-class", Token::Type),
    ("support.type", Token::Type),
    ("support.class", Token::Type),
    ("storage.type.class.user", Token::Type),
    ("entity.name.tag", Token::Tag),
    ("entity.other.attribute-name", Token::Tag),
    ("support.type.property-name", Token::Tag),
    ("meta.mapping.key", Token::Tag),
    ("variable.annotation", Token::Tag),
    ("markup.inserted", Token::Added),
    ("markup.deleted", Token::Removed),
    ("markup.heading", Token::Heading),
    ("entity.name.section", Token::Heading),
    ("meta.interpolation", Token::Text),
    ("meta.template.expression", Token::Text),
    ("source", Token::Text),
    ("text", Token::Text),
];

/// The meanings of scopes, looked up once each.
pub(super) struct Scopes {
    meanings: Vec<(Scope, Token)>,
    known: HashMap<Scope, Option<Token>>,
}

impl Scopes {
    pub(super) fn new() -> Self {
        let meaning = |(name, token)| Some((Scope::from_str(name).ok()?, token));
        Self {
            meanings: MEANINGS.into_iter().filter_map(meaning).collect(),
            known: HashMap::new(),
        }
    }

    /// The token that the scopes of a place mean, the innermost last.
    pub(super) fn token(&mut self, scopes: &[Scope]) -> Token {
        let mut meanings = scopes.iter().rev().map(|scope| self.of_one(*scope));
        meanings.find_map(|token| token).unwrap_or(Token::Text)
    }

    fn of_one(&mut self, scope: Scope) -> Option<Token> {
        let meanings = &self.meanings;
        *self.known.entry(scope).or_insert_with(|| {
            let fits = meanings
                .iter()
                .filter(|(beginning, _)| beginning.is_prefix_of(scope));
            let longest = fits.max_by_key(|(beginning, _)| beginning.len());
            longest.map(|(_, token)| *token)
        })
    }
}
