// expect: worker-exit exception timeout
return (1n << (1n << 40n)).toString().length;
