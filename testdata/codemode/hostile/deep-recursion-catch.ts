// expect: exception timeout
// message: Maximum call stack
const f = (): any => { try { return f(); } catch { return f(); } };
return f();
