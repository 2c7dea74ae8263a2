// expect: exception
// message: still reported
Object.prototype.toString = () => { throw 1; };
(Array.prototype as any).map = null;
(Promise.prototype as any).then = () => { throw 2; };
JSON.stringify = (() => "fake") as any;
throw new Error("still reported");
