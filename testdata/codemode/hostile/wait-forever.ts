// expect: timeout
// message: nothing can resolve
await new Promise(() => {});
