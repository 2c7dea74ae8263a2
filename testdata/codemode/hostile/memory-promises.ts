// expect: worker-exit timeout
const a: any[] = [];
for (;;) a.push(new Promise(() => {}).then(() => 1));
