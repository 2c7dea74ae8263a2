// expect: output-limit
console.log("\u0001".repeat(1e6));
