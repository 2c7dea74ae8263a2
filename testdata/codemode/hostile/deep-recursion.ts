// expect: exception
// message: Maximum call stack
const f = (n: number): number => f(n + 1) + 1;
return f(0);
