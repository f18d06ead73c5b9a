//! Writes the C source that calls every function of the header in every wrong way: `misuse HEADER > calls.c`. What the
//! source leans on is in tests/c/misuse.h. A parameter of a kind that is not known here ends the program, so that a new
//! function is either tried or noticed.

use std::fmt::Write;

struct Function {
    returns: String,
    name: String,
    params: Vec<Param>,
}

struct Param {
    kind: String,
    name: String,
}

/// One argument, or a pointer with its length, and how many ways there are to give it; way 0 is the right one.
struct Argument {
    /// Statements before the call.
    before: String,
    /// What stands in the call.
    call: String,
    /// Statements after the call.
    after: String,
    ways: &'static str,
}

const HANDLES: [&str; 13] = [
    "Options",
    "Manager",
    "Session",
    "Entries",
    "Context",
    "Tree",
    "State",
    "Blobs",
    "History",
    "String",
    "Strings",
    "Error",
    "EntryView",
];

fn main() {
    let path = std::env::args().nth(1).expect("usage: misuse HEADER");
    let header = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let functions = functions(&header);
    let mut source = String::from("#include \"misuse.h\"\n");
    for function in &functions {
        source += &wrapper(function);
    }
    source += "\nconst Call calls[] = {\n";
    for function in &functions {
        let ways: Vec<&str> = arguments(function).iter().map(|argument| argument.ways).collect();
        let _ = writeln!(
            source,
            "    {{\"{0}\", call_{0}, {1}, {{{2}}}}},",
            function.name,
            ways.len(),
            if ways.is_empty() { "0".to_owned() } else { ways.join(", ") }
        );
    }
    let _ = writeln!(source, "}};\nconst size_t calls_count = {};", functions.len());
    print!("{source}");
}

/// The functions that a header of cbindgen declares.
fn functions(header: &str) -> Vec<Function> {
    let mut code = String::new();
    let mut rest = header;
    while let Some((before, after)) = rest.split_once("/*") {
        code += before;
        rest = after.split_once("*/").map_or("", |(_, after)| after);
    }
    code += rest;
    let code: String = code.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join(" ");
    let declarations = code.split(';').filter(|text| text.contains(" xcsh_") || text.contains("*xcsh_"));
    declarations.filter(|text| !text.contains("typedef")).map(function).collect()
}

fn function(declaration: &str) -> Function {
    let (head, params) = declaration.split_once('(').expect("a function");
    let head = head.rsplit(['{', '}']).next().unwrap_or_default().trim();
    let (returns, name) = head.split_at(head.find("xcsh_").expect("a name"));
    let params = params.trim().trim_end_matches(')');
    let param = |text: &str| {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let end = text.rfind(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).expect("a type and a name") + 1;
        let (kind, name) = text.split_at(end);
        Param { kind: kind.trim().replace("struct ", ""), name: name.to_owned() }
    };
    let params = if params == "void" { Vec::new() } else { params.split(',').map(param).collect() };
    Function { returns: returns.trim().to_owned(), name: name.to_owned(), params }
}

fn arguments(function: &Function) -> Vec<Argument> {
    let mut arguments = Vec::new();
    let mut params = function.params.iter().peekable();
    while let Some(param) = params.next() {
        let i = arguments.len();
        let counted =
            params.peek().is_some_and(|next| next.kind.starts_with("size_t") && is_length_of(&next.name, &param.name));
        let argument = if counted {
            params.next();
            pointer_and_length(function, param, i)
        } else {
            single(function, param, i)
        };
        arguments.push(argument);
    }
    arguments
}

fn is_length_of(length: &str, name: &str) -> bool {
    length == "count" || length == format!("{name}_len") || length == format!("{name}_count")
}

fn pointer_and_length(function: &Function, param: &Param, i: usize) -> Argument {
    let (make, ways, cast) = match param.kind.as_str() {
        "const char *" => ("give_text", "TEXT_WAYS", "(const char *)"),
        "const uint8_t *" => ("give_bytes", "BYTES_WAYS", "(const uint8_t *)"),
        "const XcshStr *" => ("give_texts", "TEXTS_WAYS", "(const XcshStr *)"),
        "const XcshEntryLine *" => ("give_lines", "LINES_WAYS", "(const XcshEntryLine *)"),
        "const XcshEnvVar *" => ("give_vars", "VARS_WAYS", "(const XcshEnvVar *)"),
        // Numbers that the library lends, and how many.
        "const uint32_t **" => {
            return Argument {
                before: format!("const uint32_t *lent{i} = GARBAGE;\n    size_t count{i} = 77;\n"),
                call: format!("way[{i}] ? NULL : &lent{i}, &count{i}"),
                after: format!("check_lent(call, status, way[{i}], lent{i}, count{i});\n"),
                ways: "PLACE_WAYS",
            };
        }
        other => panic!("{}: {other} {} with a length", function.name, param.name),
    };
    Argument {
        before: format!("Given given{i} = {make}(world, \"{}\", \"{}\", way[{i}]);\n", function.name, param.name),
        call: format!("{cast}given{i}.data, given{i}.len"),
        after: format!("check_given(call, status, given{i});\n"),
        ways,
    }
}

fn single(function: &Function, param: &Param, i: usize) -> Argument {
    let Param { kind, name } = param;
    let plain = |call: String, ways| Argument { before: String::new(), call, after: String::new(), ways };
    let handle = HANDLES.iter().find(|handle| {
        [format!("const Xcsh{handle} *"), format!("Xcsh{handle} *")].contains(kind) && **handle != "EntryView"
    });
    if let Some(handle) = handle {
        let lower = handle.to_lowercase();
        let taken = function.name.ends_with("_free");
        let get = if taken { format!("take_{lower}(world)") } else { format!("the_{lower}(world)") };
        return Argument {
            before: format!("{kind} handle{i} = way[{i}] ? NULL : {get};\n").replace("* ", "*"),
            call: format!("handle{i}"),
            after: format!("check_handle(call, status, way[{i}]);\n"),
            ways: "HANDLE_WAYS",
        };
    }
    if kind == "XcshError **" && name == "err" {
        return Argument {
            before: "XcshError *err = GARBAGE;\n".to_owned(),
            call: format!("way[{i}] ? NULL : &err"),
            after: format!("check_error(call, status, way[{i}] ? NULL : &err);\n"),
            ways: "PLACE_WAYS",
        };
    }
    if let Some(handle) = HANDLES.iter().find(|handle| *kind == format!("Xcsh{handle} **")) {
        let lower = handle.to_lowercase();
        return Argument {
            before: format!("Xcsh{handle} *result{i} = GARBAGE;\n"),
            call: format!("way[{i}] ? NULL : &result{i}"),
            after: format!(
                "check_result(call, status, way[{i}], result{i});\n    if (!way[{i}]) xcsh_{lower}_free(result{i});\n"
            ),
            ways: "PLACE_WAYS",
        };
    }
    match kind.as_str() {
        "XcshStr *" | "XcshEntryView *" | "XcshUsage *" | "bool *" | "uint32_t *" | "uint64_t *" => Argument {
            before: format!("{} place{i};\n", kind.trim_end_matches(" *")),
            call: format!("way[{i}] ? NULL : &place{i}"),
            after: format!("check_place(call, status, way[{i}]);\n"),
            ways: "PLACE_WAYS",
        },
        "const XcshCompaction *" | "const XcshCustomMessage *" => {
            let base = kind.trim_start_matches("const Xcsh").trim_end_matches(" *");
            Argument {
                before: format!("Given given{i} = give_{}(world, way[{i}]);\n", base.to_lowercase()),
                call: format!("({kind})given{i}.data").replace(" *)", " *)"),
                after: format!("check_given(call, status, given{i});\n"),
                ways: "STRUCT_WAYS",
            }
        }
        "uint32_t" | "int32_t" | "uint64_t" | "size_t" => {
            plain(format!("({kind})give_number(\"{}\", \"{name}\", way[{i}])", function.name), "NUMBER_WAYS")
        }
        "XcshLogFn" => plain(format!("way[{i}] ? NULL : on_log"), "HANDLE_WAYS"),
        "void *" => plain(format!("way[{i}] ? NULL : world"), "HANDLE_WAYS"),
        other => panic!("{}: {other} {name}", function.name),
    }
}

fn wrapper(function: &Function) -> String {
    let arguments = arguments(function);
    let status = function.returns == "XcshStatus" && function.params.iter().any(|param| param.name == "err");
    let mut text = format!("\nstatic void call_{}(World *world, const unsigned *way) {{\n", function.name);
    let _ = writeln!(text, "    static const char call[] = \"{}\";", function.name);
    text += "    (void)world, (void)way, (void)call;\n";
    for argument in arguments.iter().filter(|argument| !argument.before.is_empty()) {
        let _ = write!(text, "    {}", argument.before);
    }
    let call: Vec<&str> = arguments.iter().map(|argument| argument.call.as_str()).collect();
    let call = format!("{}({})", function.name, call.join(", "));
    if status {
        let _ = writeln!(text, "    XcshStatus status = {call};");
        text += "    check_status(call, status);\n";
        for argument in arguments.iter().filter(|argument| !argument.after.is_empty()) {
            let _ = write!(text, "    {}", argument.after);
        }
    } else if function.returns == "void" {
        let _ = writeln!(text, "    {call};");
    } else {
        let _ = writeln!(text, "    (void){call};");
    }
    text + "}\n"
}
