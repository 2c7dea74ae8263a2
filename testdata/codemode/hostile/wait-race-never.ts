// expect: timeout
// message: nothing can resolve
await Promise.race([]);
