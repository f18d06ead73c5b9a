import native = require("../binding/index.js");

// The generated binding: texts, numbers and bytes cross it, objects do not.
export = native;
