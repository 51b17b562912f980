const price = '$1';
