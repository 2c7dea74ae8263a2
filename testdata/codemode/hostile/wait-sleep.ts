// expect: timeout
// message: wall-clock
await new Promise((r) => setTimeout(r, 1e9));
