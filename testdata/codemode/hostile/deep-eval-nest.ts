// expect: exception worker-exit timeout ok
let s = "1";
for (let i = 0; i < 50; i++) s = `eval(${JSON.stringify(s)})`;
return eval(s);
