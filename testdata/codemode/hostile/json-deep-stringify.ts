// expect: exception timeout worker-exit ok
let a: any = [];
for (let i = 0; i < 3e5; i++) a = [a];
JSON.stringify(a);
