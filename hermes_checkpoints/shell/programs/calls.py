"""Which calls in inline code only read: what is not on a list here may do anything.

It looks at names alone: those before a parenthesis, in some languages also those before a
literal or a variable, and what stands first in a list of a Lisp or a line of Tcl.
"""

from __future__ import annotations

import re

from ..arguments import words

_EVERYWHERE = words(
    """
    print printf println puts echo say warn format sprintf p pp inspect dump_text
    if while for foreach elif elsif unless until switch catch return and or not in function func
    fn def lambda do then else case when where let match typeof instanceof new await async void
    yield throw raise defined import require use library include const var with super this self
    abs max min round floor ceil sqrt pow log exp sin cos sum mean length len size count range
    sort sorted reverse reversed map filter reduce each any all some every find includes index
    keys values entries items get has first last take drop zip flat flatten uniq unique
    push pop shift unshift splice slice concat join split replace replaceAll sub gsub trim strip
    chomp lower upper toString toUpperCase toLowerCase to_s to_i to_f to_a to_sym to_h to_json
    toFixed parse stringify generate repeat padStart padEnd startsWith endsWith charAt charCodeAt
    codePointAt substr substring indexOf lastIndexOf test exec_match matchAll search String Number
    Boolean Array Object Date Math JSON Set Map RegExp Error Symbol BigInt parseInt parseFloat
    isNaN isFinite Promise resolve reject Buffer from URL URLSearchParams int float str bool list
    exit die quit ord chr hex oct rand random now time sleep read readFile readFileSync readdir
    readdirSync exists existsSync stat statSync lstat lstatSync isFile isDirectory basename dirname
    extname env cwd version toISOString getTime getFullYear forEach
    """
)
_JAVASCRIPT = _EVERYWHERE | words(
    """
    log error info debug table dir trace time timeEnd assert group groupEnd setTimeout clearTimeout
    setInterval fetch then finally json text arrayBuffer on once nextTick uptime memoryUsage hrtime
    assign create freeze defineProperty fromEntries getOwnPropertyNames getPrototypeOf isArray of
    byteLength alloc toArray at fill findIndex findLast flatMap copyWithin lastIndex localeCompare
    normalize match codePointAt fromCharCode fromCodePoint raw encodeURIComponent decodeURIComponent
    encodeURI decodeURI escape unescape atob btoa toLocaleString toDateString getMonth getDate
    getHours getMinutes getSeconds valueOf hasOwnProperty toJSON add delete_key clear_key next
    resume end pause setHeader allSettled race createHash update digest randomBytes randomUUID
    createHmac pbkdf2Sync
    cpus totalmem freemem platform arch homedir tmpdir hostname type release networkInterfaces
    lookup relative normalize isAbsolute sep accessSync access realpath realpathSync readlinkSync
    createReadStream setEncoding createInterface question gunzipSync gzipSync inflateSync
    deflateSync brotliDecompressSync structuredClone performance queueMicrotask TextEncoder
    TextDecoder encode decode Uint8Array Uint16Array Uint32Array Int32Array Float64Array WeakMap
    Intl NumberFormat DateTimeFormat trimEnd trimStart toSorted toReversed with
    readTextFile readTextFileSync cwd getOwnPropertyDescriptor hasOwn satisfies valid gt lt coerce
    """
)
_PERL = _EVERYWHERE | words(
    """
    my our local scalar wantarray ref bless exists defined delete each grep splice substr lc uc
    ucfirst lcfirst index rindex pack unpack quotemeta pos chop open close eof binmode readline
    getc seek tell fileno opendir readdir closedir glob stat lstat readlink localtime gmtime times
    int srand atan2 study reset undef eq ne lt gt le ge cmp x xor last next redo BEGIN END STDIN
    STDOUT STDERR qw q qq m s y tr no package eval_block Dumper decode_json encode_json basename
    dirname max min sum first uniq blessed floor ceil strftime mktime getcwd cwd realpath
    md5_hex sha1_hex sha256_hex encode_base64 decode_base64 decode encode croak carp confess
    can isa VERSION new slurp canonical pretty
    """
)
_RUBY = _EVERYWHERE | words(
    """
    open module class begin end rescue ensure nil true false require_gem attr_accessor select map
    each_with_index each_line each_char each_slice inject sum min_by max_by sort_by group_by
    partition tally zip compact reject detect include start_with end_with empty nil? positive?
    even? odd? zero? times upto downto step freeze dup clone new readlines gets lines chars bytes
    scan tr squeeze ljust rjust center capitalize swapcase succ hash is_a? respond_to? send_text
    methods class instance_of? fetch dig merge transform_values transform_keys key? value? parse
    load_file safe_load pretty_generate generate today strftime iso8601 foreach glob exist?
    file? directory? expand_path extname hexdigest encode64 decode64 unpack pack digest_text
    format puts_text entries children abort match loop proc
    """
)
_PHP = _EVERYWHERE | words(
    """
    as global static public private echo print_r var_dump var_export json_encode json_decode
    array isset empty unset count strlen
    strtolower
    strtoupper str_replace str_repeat str_pad substr strpos strrpos explode implode trim ltrim rtrim
    nl2br htmlspecialchars urlencode urldecode base64_encode base64_decode md5 sha1 hash crc32
    preg_match preg_match_all preg_replace preg_split in_array array_map array_filter array_keys
    array_values array_merge array_sum array_unique array_slice array_reverse array_combine
    array_flip array_column usort ksort sort asort range date strtotime mktime microtime phpversion
    phpinfo php_sapi_name php_uname ini_get get_loaded_extensions extension_loaded function_exists
    class_exists method_exists gettype is_string is_array is_int is_null intval floatval strval
    number_format random_int mt_rand rand uniqid bin2hex hex2bin ord chr ucfirst ucwords
    file_get_contents file fopen fgets fread feof fclose file_exists is_file is_dir filesize
    filemtime scandir glob dirname basename pathinfo realpath getcwd getenv sys_get_temp_dir
    password_hash password_verify serialize curl_version memory_get_usage var_dump list exit sprintf
    vsprintf printf number PHP_EOL microtime usleep stream_get_contents stream_get_wrappers
    array_push
    """
)
_LUA = _EVERYWHERE | words(
    """
    ipairs pairs type tostring tonumber select unpack pcall xpcall error assert setmetatable
    getmetatable next rawget rawset gmatch gsub find sub rep byte char lower upper insert
    remove_item
    concat clock date getenv lines open end local function difftime
    """
)
_R = _EVERYWHERE | words(
    """
    c cat paste paste0 nrow ncol dim str summary head tail rownames colnames names class is.na
    read.csv read.table readLines readRDS sessionInfo packageVersion R.version installed.packages
    library requireNamespace suppressMessages suppressWarnings matrix data.frame list seq rep
    sapply lapply vapply apply tapply Reduce Filter Map which table quantile median var sd rnorm
    runif set.seed sample lm predict t.test cor as.numeric as.character as.integer factor levels
    nchar toupper tolower grepl sprintf strsplit unlist is.null stopifnot Sys.time Sys.getenv
    getwd list.files file.exists capabilities version nlevels cumsum colMeans rowSums seq_len
    available.packages numeric_version find.package require invisible
    """
)
_OTHERS = _EVERYWHERE | words(
    """
    puts inspect IO Enum String List Integer reduce show putStrLn println versioninfo VERSION @show
    display Pkg status string parse pi zeros ones rand collect typeof eltype isempty readlines
    eachline read methods bits System version_text property getProperty scala util tail head nil
    toList mkString sys props fold foldLeft foldRight toInt toLong
    """
)
CALLED = {  # language -> calls that change nothing
    "node": _JAVASCRIPT, "deno": _JAVASCRIPT, "bun": _JAVASCRIPT, "ts-node": _JAVASCRIPT,
    "tsx": _JAVASCRIPT, "coffee": _JAVASCRIPT, "perl": _PERL, "raku": _PERL, "ruby": _RUBY,
    "irb": _RUBY, "php": _PHP, "lua": _LUA, "Rscript": _R, "R": _R, "julia": _OTHERS,
    "elixir": _OTHERS, "groovy": _OTHERS, "scala": _OTHERS, "swift": _OTHERS, "python": _OTHERS,
    "java": _OTHERS, "tclsh": words(
        "puts set expr if while for foreach proc return string list lindex llength lappend incr"
        " format info clock package exit catch else elseif break continue join split regexp regsub"
        " dict array lrange lsort lreverse global variable upvar concat append source_text"
    ), "clojure": frozenset(), "bb": frozenset(), "guile": frozenset(), "racket": frozenset(),
}  # fmt: skip
_LISPS = ("clojure", "bb", "guile", "racket")
_LISP_READS = words(
    """
    println print prn pr display displayln newline write_text printf format str string-append + - *
    / < > = <= >= not= not and or if cond when let let* letrec define defn def fn lambda do begin
    map filter reduce for for-each apply range take drop first second last rest cons car cdr list
    vector hash-map count length nth get get-in assoc dissoc keys vals slurp read-string version
    clojure-version inc dec even? odd? zero? nil? empty? sort sort-by reverse into require ns import
    quote name keyword symbol number->string string->number string-length substring doall dorun
    json/parse-string json/generate-string edn/read-string str/join str/split str/upper-case
    str/lower-case str/trim frequencies group-by distinct interleave partition -> ->> loop recur
    """
)
_LITERALS = re.compile(
    r"\\.|'(?:[^'\\]|\\.)*'?|\"(?:[^\"\\]|\\.)*\"?|(?<=[=(,~:\s])/(?![/*\s])(?:[^/\\\n]|\\.)+/\w*",
    re.S,
)
_PERL_QUOTED = re.compile(
    r"\b(?:s|y|tr)([/|!#,])(?:[^\\\n]|\\.){0,400}?\1(?:[^\\\n]|\\.){0,400}?\1\w*"
    r"|\b(?:m|qw|qr|q)(?:/[^/\n]{0,400}/|\([^)\n]{0,400}\)|\{[^}\n]{0,400}\}|\[[^\]\n]{0,400}\])\w*"
)
_INTERPOLATED = re.compile(r"#\{|\$\{|@\{|\$\(")
_DOTTED = (  # names of R that have a dot in them
    r"(?:na|null|csv|table|frame|numeric|character|integer|seed|time|getenv|files|exists|version|"
    r"packages|package|test)\b"
)
_BEFORE_PARENTHESIS = re.compile(
    rf"(?<![\w$@%&])([A-Za-z_$][\w$]*(?:\.{_DOTTED})?[!?]?)\s{{0,9}}\("
)
_BEFORE_VALUE = re.compile(r"(?<![\w$@%&.>:{])([a-z_]\w*[!?]?)[ \t]{1,9}(?=['\"$@\\]|[A-Z]\w*\s?,)")
_AFTER_CALL = re.compile(r"\]\s{0,9}\(|(?<!&)&\s{0,9}[{$]|\)\s{0,9}\(|->\s{0,9}\(")
_DEFINED = re.compile(
    r"\b(?:function|sub|def|func|fn|proc|defp|val|local function)\s{1,9}\*?\s{0,9}([A-Za-z_]\w*)"
    r"|(?<![\w$.])([A-Za-z_$][\w$]*)\s{0,9}=\s{0,9}(?:async\s{1,9})?(?:function\b|\([^()]{0,99}\)\s{0,9}=>|\w{1,40}\s{0,9}=>|->|lambda\b)"
)
_LISP_HEAD = re.compile(r"\(\s{0,9}([^\s()\[\]{}\"']+)")
_TCL_HEAD = re.compile(r"(?:^|[;\n\[{])\s{0,99}([A-Za-z_]\w*)")
_IN_PLACE = re.compile(r"\$\^I\b|\bARGV\s*=")


def reads_only(language: str, code: str) -> bool:
    """Whether every call in a piece of code is known to change nothing."""
    if language in _LISPS:
        heads = _LISP_HEAD.findall(_LITERALS.sub(" ", code.replace("'", " ")))
        return all(head in _LISP_READS or head[0] == "." for head in heads)
    allowed = CALLED[language]
    if language in ("perl", "raku"):
        if _IN_PLACE.search(code):
            return False
        code = _PERL_QUOTED.sub('""', code)
    bare = _LITERALS.sub(_emptied, code)
    if language == "tclsh":
        return all(head in allowed for head in _TCL_HEAD.findall(bare))
    own = {name for pair in _DEFINED.findall(bare) for name in pair if name}
    called = _BEFORE_PARENTHESIS.findall(bare)
    if language not in ("R", "Rscript"):
        called = [name.rpartition(".")[2] for name in called]
    if language in ("perl", "raku"):
        called = [name for name in called if name[0] != "$"]
    if language in ("perl", "raku", "ruby", "irb", "lua", "php", "elixir", "coffee", "groovy"):
        called += _BEFORE_VALUE.findall(bare)
    if any(name not in allowed and name not in own for name in called):
        return False
    return not _AFTER_CALL.search(bare.replace("})()", "").replace("})(", ""))


def _emptied(match: re.Match[str]) -> str:
    """A literal without its text, unless there may be code in it."""
    text = match[0]
    if text[0] == '"' and _INTERPOLATED.search(text):
        return f'"" {text[1:-1]} '
    return text if text[0] == "\\" else '""'
