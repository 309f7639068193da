//! Walks the readable files and reads their facts, with several threads.

use std::borrow::Cow;
use std::sync::Arc;

use rustix::fs::Stat;

use super::cache::{CachedFiles, IndexCache};
use super::language::{self, SourceFacts, SourceLanguage};
use super::project::SourceFile;
use super::{FileExtent, nesting};
use workspace::{Error, PROGRAM_FOLDER, ReadCandidate, RelPath, Workspace};

/// The largest text that is parsed for definitions; larger ones only get their lines counted.
pub(crate) const INDEX_PARSED_BYTES_MAX: u64 = 2 * 1024 * 1024;
/// The largest file that is read; of larger ones only the size is known.
pub(crate) const INDEX_READ_BYTES_MAX: u64 = 32 * 1024 * 1024;
/// Bytes of a file that are searched for zero bytes, which mark it as binary.
const BINARY_PROBE_BYTES: usize = 8 * 1024;

/// Manifests that resolvers need.
const MANIFESTS: [&str; 5] = [
    "package.json",
    "jsconfig.json",
    "Cargo.toml",
    "go.mod",
    "pyproject.toml",
];
/// The largest manifest that is kept in memory and in the cache; larger ones are read again.
const MANIFEST_KEPT_BYTES_MAX: usize = 64 * 1024;

/// The state of one thread.
#[derive(Default)]
struct IndexThread {
    sources: Vec<SourceFile>,
    buffer: Vec<u8>,
}

/// Every file that may be read, in tree order, and how many entries have names that no path can spell.
pub(super) fn collect(
    space: &Workspace,
    known: &CachedFiles,
    cache: &IndexCache,
) -> Result<(Vec<SourceFile>, usize), Error> {
    let read = |hand: &mut IndexThread, candidate: ReadCandidate<'_>| {
        // The program's own files are no part of the project.
        if candidate.path.names().next() == Some(PROGRAM_FOLDER) {
            return;
        }
        let source = known
            .unchanged(&candidate)
            .or_else(|| opened(candidate, known, cache, &mut hand.buffer));
        hand.sources.extend(source);
    };
    let (hands, unnameable) =
        space.visit_readable(nesting::STACK_BYTES, IndexThread::default, read)?;
    let mut sources: Vec<SourceFile> = hands.into_iter().flat_map(|hand| hand.sources).collect();
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    Ok((sources, unnameable))
}

fn opened(
    candidate: ReadCandidate<'_>,
    known: &CachedFiles,
    cache: &IndexCache,
    buffer: &mut Vec<u8>,
) -> Option<SourceFile> {
    let file = candidate.open()?;
    let stat = file.stat();
    let path = candidate.path;
    let language = SourceLanguage::of(&path);
    let size = u64::try_from(stat.st_size).unwrap_or(0);
    if !file.read_whole(INDEX_READ_BYTES_MAX, buffer) {
        return Some(SourceFile {
            path,
            language,
            extent: FileExtent::Bytes(size),
            facts: Arc::default(),
            manifest: None,
            stamp: cache.stamp(stat, 0),
        });
    }
    let stamp = cache.stamp(stat, cache.hash(buffer));
    let (extent, facts) = match known.same_content(&path, &stamp) {
        Some(known) => known,
        None => {
            let extent = extent(buffer);
            let facts = match extent {
                FileExtent::Lines(_) if size <= INDEX_PARSED_BYTES_MAX => {
                    let text = text_of(buffer);
                    nesting::with_stack_for(&text, || language::facts(language, &path, &text))
                        .unwrap_or_default()
                }
                _ => SourceFacts::default(),
            };
            (extent, Arc::new(facts))
        }
    };
    Some(SourceFile {
        manifest: manifest(&path, buffer),
        path,
        language,
        extent,
        facts,
        stamp,
    })
}

/// Returns the text of a file that import resolvers need.
fn manifest(path: &RelPath, bytes: &[u8]) -> Option<Arc<str>> {
    let name = path.file_name().unwrap_or_default();
    let is_one = MANIFESTS.contains(&name) || name.starts_with("tsconfig");
    if !is_one || bytes.len() > MANIFEST_KEPT_BYTES_MAX {
        return None;
    }
    Some(Arc::from(text_of(bytes)))
}

/// Decodes a file in any encoding. Text that is not UTF-8 is mostly Latin-1, in which every byte is
/// a character; UTF-16 says so in its first two bytes.
pub(super) fn text_of(bytes: &[u8]) -> Cow<'_, str> {
    // Validating first is three times as fast as repairing at once.
    match simdutf8::basic::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(utf16(bytes).unwrap_or_else(|| mended(bytes))),
    }
}

/// Keeps valid UTF-8, and reads every other byte as a character of Latin-1.
fn mended(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|byte| char::from(*byte)));
    }
    text
}

/// Decodes a text in UTF-16, which begins with a byte order mark.
fn utf16(bytes: &[u8]) -> Option<String> {
    let (pairs, _) = bytes.as_chunks::<2>();
    let (mark, units) = pairs.split_first()?;
    let unit: fn([u8; 2]) -> u16 = match mark {
        [0xff, 0xfe] => u16::from_le_bytes,
        [0xfe, 0xff] => u16::from_be_bytes,
        _ => return None,
    };
    let units = units.iter().map(|pair| unit(*pair));
    let characters = char::decode_utf16(units);
    Some(
        characters
            .map(|it| it.unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect(),
    )
}

fn extent(bytes: &[u8]) -> FileExtent {
    let recoded = utf16(bytes);
    let text = recoded.as_ref().map_or(bytes, |text| text.as_bytes());
    let probe = &text[..text.len().min(BINARY_PROBE_BYTES)];
    if memchr::memchr(0, probe).is_some() {
        return FileExtent::Bytes(bytes.len() as u64);
    }
    let ends = memchr::memchr_iter(b'\n', text).count();
    let is_open = text.last().is_some_and(|last| *last != b'\n');
    FileExtent::Lines(u32::try_from(ends + usize::from(is_open)).unwrap_or(u32::MAX))
}

/// The parts of a file's status that change whenever its content does.
pub(super) fn times(stat: &Stat) -> (i64, i64) {
    #[allow(
        clippy::unnecessary_cast,
        clippy::cast_lossless,
        clippy::cast_possible_wrap,
        reason = "the fields' types differ between operating systems"
    )]
    let nanos = |seconds: i64, nanos: i64| seconds.saturating_mul(1_000_000_000) + nanos;
    #[allow(
        clippy::unnecessary_cast,
        clippy::cast_lossless,
        clippy::cast_possible_wrap,
        reason = "the fields' types differ between operating systems"
    )]
    let both = (
        nanos(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
        nanos(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
    );
    both
}
