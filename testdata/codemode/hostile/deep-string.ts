// expect: timeout worker-exit ok exception
let a: any = [];
for (let i = 0; i < 3e5; i++) a = [a];
return String(a).length;
