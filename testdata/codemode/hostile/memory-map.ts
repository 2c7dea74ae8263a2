// expect: worker-exit timeout
const m = new Map();
for (let i = 0; ; i++) m.set({}, new Array(100).fill(i));
