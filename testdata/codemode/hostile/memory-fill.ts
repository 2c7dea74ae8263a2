// expect: worker-exit timeout
return Array(1e8).fill(0).length;
