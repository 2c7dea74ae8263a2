// expect: output-limit ok timeout
const big = Array.from({ length: 100 }, () => Array.from({ length: 100 }, () => "x".repeat(1000)));
console.log({ a: big, b: big, c: big });
for (let i = 0; i < 3; i++) console.log(big);
