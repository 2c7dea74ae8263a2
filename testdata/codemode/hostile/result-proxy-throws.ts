// expect: exception
// message: trap
return new Proxy({}, { ownKeys() { throw new Error("trap"); } });
