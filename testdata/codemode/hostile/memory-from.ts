// expect: worker-exit timeout
return Array.from({ length: 1e8 }, (_, i) => i).length;
