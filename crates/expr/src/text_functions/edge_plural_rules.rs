//! The English of pluralize 8, with the words `@poppinss/string` adds, most particular rule first.

use super::endings::{EndingRule, swap};

#[rustfmt::skip]
const LATIN_US: &[&str] = &[
    "alumn", "syllab", "vir", "radi", "nucle", "fung", "cact", "stimul", "termin", "bacill",
    "foc", "uter", "loc", "strat",
];

#[rustfmt::skip]
const GREEK_ON: &[&str] = &[
    "apheli", "hyperbat", "periheli", "asyndet", "noumen", "phenomen", "criteri", "organ",
    "prolegomen", "hedr", "automat",
];

/// Endings with one form for both numbers.
#[rustfmt::skip]
const ALIKE: &[&str] = &[
    "sheep", "pox", "o[iu]s", "measles", "fish", "deer", "[^aeiou]ese", "pok[eé]mon",
];

pub(super) const PLURAL: &[EndingRule] = &[
    swap(&["veto", "lens", "canvas", "bias"], &[""], "es"),
    swap(&["quiche", "niche", "cliche", "cache"], &[""], "s"),
    swap(&["fez"], &[""], "zes"),
    swap(ALIKE, &[""], ""),
    swap(&["^"], &["thou"], "you"),
    swap(&[""], &["man", "men"], "men"),
    swap(&["eaux"], &[""], ""),
    swap(&["child"], &["ren", ""], "ren"),
    swap(&["pe"], &["rson", "ople"], "ople"),
    swap(&["<titm", "<m", "<l"], &["ice", "ouse"], "ice"),
    swap(
        &["matr", "cod", "mur", "sil", "vert", "ind", "append"],
        &["ix", "ex"],
        "ices",
    ),
    swap(&["x", "ch", "ss", "sh", "zz"], &[""], "es"),
    swap(&["[^ch][ieo][ln]"], &["ey"], "ies"),
    swap(&["[^aeiouy]", "qu"], &["y"], "ies"),
    swap(&["kni", "wi", "li"], &["fe"], "ves"),
    swap(&["ar", "l", "ea", "eo", "oa", "hoo"], &["f"], "ves"),
    swap(&[""], &["sis"], "ses"),
    swap(GREEK_ON, &["a", "on"], "a"),
    swap(
        &[
            "agend",
            "addend",
            "millenni",
            "dat",
            "extrem",
            "bacteri",
            "desiderat",
            "strat",
            "candelabr",
            "errat",
            "ov",
            "symposi",
            "curricul",
            "automat",
            "quor",
        ],
        &["a", "um"],
        "a",
    ),
    swap(&["her", "at", "gr"], &["o"], "oes"),
    swap(&["seraph", "cherub"], &["im", ""], "im"),
    swap(&["alumn", "alg", "vertebr"], &["a", "ae"], "ae"),
    swap(LATIN_US, &["us", "i"], "i"),
    swap(&["[^l]ias", "[aeiou]las", "[ejzr]as", "[iu]am"], &[""], ""),
    swap(&["e[mn]u"], &["s", ""], "s"),
    swap(&["alias", "[^aou]us", "t[lm]as", "gas", "ris"], &[""], "es"),
    swap(&["ax", "test"], &["is"], "es"),
];

pub(super) const SINGULAR: &[EndingRule] = &[
    swap(&["veto", "lens", "canvas", "bias"], &["es"], ""),
    swap(&["quiche", "niche", "cliche", "cache"], &["s"], ""),
    swap(&["fez"], &["zes"], ""),
    swap(ALIKE, &[""], ""),
    swap(&[""], &["men"], "man"),
    swap(&["eau"], &["x", ""], ""),
    swap(&["child"], &["ren"], ""),
    swap(&["pe"], &["rson", "ople"], "rson"),
    swap(&["matr", "append"], &["ices"], "ix"),
    swap(&["cod", "mur", "sil", "vert", "ind"], &["ices"], "ex"),
    swap(&["alumn", "alg", "vertebr"], &["ae"], "a"),
    swap(GREEK_ON, &["a"], "on"),
    swap(
        &[
            "agend",
            "addend",
            "millenni",
            "dat",
            "extrem",
            "bacteri",
            "desiderat",
            "strat",
            "candelabr",
            "errat",
            "ov",
            "symposi",
            "curricul",
            "quor",
        ],
        &["a"],
        "um",
    ),
    swap(LATIN_US, &["us", "i"], "us"),
    swap(&["test"], &["is", "es"], "is"),
    swap(&["movie", "twelve", "abuse", "e[mn]u"], &["s"], ""),
    swap(
        &[
            "analy", "diagno", "parenthe", "progno", "synop", "the", "empha", "cri", "ne",
        ],
        &["sis", "ses"],
        "sis",
    ),
    swap(
        &[
            "x",
            "ch",
            "ss",
            "sh",
            "zz",
            "tto",
            "go",
            "cho",
            "alias",
            "[^aou]us",
            "t[lm]as",
            "gas",
            "hero",
            "ato",
            "gro",
            "[aeiou]ris",
        ],
        &["es", ""],
        "",
    ),
    swap(&["seraph", "cherub"], &["im"], ""),
    swap(&["<titm", "<m", "<l"], &["ice"], "ouse"),
    swap(&["<mon", "<smil"], &["ies"], "ey"),
    swap(
        &[
            "<[pl]", "<zomb", "<neckt", "<crosst", "<t", "<coll", "<faer", "<food", "<gen",
            "<goon", "<group", "<lass", "<talk", "<goal", "<cut",
        ],
        &["ies"],
        "ie",
    ),
    swap(&[""], &["ies"], "y"),
    swap(&["ar", "wol", "[ae]l", "[eo][ao]"], &["ves"], "f"),
    swap(
        &[
            "wi", "kni", "afterli", "halfli", "highli", "lowli", "midli", "nonli", "nightli",
            "%li", "^li",
        ],
        &["ves"],
        "fe",
    ),
    swap(&["ss"], &[""], ""),
    swap(&[""], &["s"], ""),
];

/// Singular to plural, sorted.
#[rustfmt::skip]
pub(super) const IRREGULAR_SINGULARS: &[(&str, &str)] = &[
    ("anathema", "anathemata"), ("axe", "axes"), ("carve", "carves"), ("die", "dice"),
    ("dingo", "dingoes"), ("dogma", "dogmata"), ("eave", "eaves"), ("echo", "echoes"),
    ("foot", "feet"), ("genus", "genera"), ("goose", "geese"), ("groove", "grooves"),
    ("has", "have"), ("he", "they"), ("herself", "themselves"), ("himself", "themselves"),
    ("human", "humans"), ("i", "we"), ("is", "are"), ("itself", "themselves"),
    ("lemma", "lemmata"), ("looey", "looies"), ("me", "us"), ("myself", "ourselves"),
    ("ox", "oxen"), ("passerby", "passersby"), ("pickaxe", "pickaxes"), ("proof", "proofs"),
    ("quiz", "quizzes"), ("schema", "schemata"), ("she", "they"), ("stigma", "stigmata"),
    ("stoma", "stomata"), ("that", "those"), ("them", "them"), ("themself", "themselves"),
    ("thief", "thieves"), ("this", "these"), ("tooth", "teeth"), ("tornado", "tornadoes"),
    ("torpedo", "torpedoes"), ("valve", "valves"), ("viscus", "viscera"), ("volcano", "volcanoes"),
    ("was", "were"), ("yes", "yeses"), ("yourself", "yourselves"),
];

/// Plural to singular, sorted; of several singulars the one upstream lists last.
#[rustfmt::skip]
pub(super) const IRREGULAR_PLURALS: &[(&str, &str)] = &[
    ("anathemata", "anathema"), ("are", "is"), ("axes", "axe"), ("carves", "carve"),
    ("dice", "die"), ("dingoes", "dingo"), ("dogmata", "dogma"), ("eaves", "eave"),
    ("echoes", "echo"), ("feet", "foot"), ("geese", "goose"), ("genera", "genus"),
    ("grooves", "groove"), ("have", "has"), ("humans", "human"), ("lemmata", "lemma"),
    ("looies", "looey"), ("ourselves", "myself"), ("oxen", "ox"), ("passersby", "passerby"),
    ("pickaxes", "pickaxe"), ("proofs", "proof"), ("quizzes", "quiz"), ("schemata", "schema"),
    ("stigmata", "stigma"), ("stomata", "stoma"), ("teeth", "tooth"), ("them", "them"),
    ("themselves", "themself"), ("these", "this"), ("they", "she"), ("thieves", "thief"),
    ("those", "that"), ("tornadoes", "tornado"), ("torpedoes", "torpedo"), ("us", "me"),
    ("valves", "valve"), ("viscera", "viscus"), ("volcanoes", "volcano"), ("we", "i"),
    ("were", "was"), ("yeses", "yes"), ("yourselves", "yourself"),
];

/// Words with one form for both numbers, sorted.
#[rustfmt::skip]
pub(super) const UNCOUNTABLE: &[&str] = &[
    "adulthood", "advice", "agenda", "aid", "aircraft", "alcohol", "ammo", "analytics", "anime",
    "athletics", "audio", "bison", "blood", "bream", "buffalo", "butter", "carp", "cash",
    "chassis", "chess", "clothing", "cod", "commerce", "cooperation", "corps", "debris",
    "diabetes", "digestion", "elk", "energy", "equipment", "excretion", "expertise", "firmware",
    "flounder", "fun", "gallows", "garbage", "graffiti", "hardware", "headquarters", "health",
    "herpes", "highjinks", "homework", "housework", "information", "jeans", "justice", "kudos",
    "labour", "literature", "machinery", "mackerel", "mail", "manga", "media", "mews", "moose",
    "mud", "music", "news", "only", "personnel", "pike", "plankton", "pliers", "police",
    "pollution", "premises", "rain", "research", "rice", "salmon", "scissors", "series", "sewage",
    "shambles", "shrimp", "software", "species", "staff", "swine", "tennis", "traffic",
    "transportation", "trout", "tuna", "wealth", "welfare", "whiting", "wildebeest", "wildlife",
    "you",
];
