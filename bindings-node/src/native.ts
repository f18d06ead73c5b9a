/** The generated binding. What crosses it: texts, numbers, bytes. @internal */
import native = require("../binding/index.js");

export = native;
