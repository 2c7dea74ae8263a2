// expect: exception
// message: import
const fs = await import("node:fs");
return fs.readdirSync("/");
