// expect: exception
const e = new Error("x");
Object.defineProperty(e, "message", { get() { throw new Error("y"); } });
throw e;
