// expect: invalid-output timeout
let a: any = [];
for (let i = 0; i < 1e6; i++) a = [a];
return a;
