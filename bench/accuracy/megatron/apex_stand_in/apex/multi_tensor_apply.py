"""Calls an operator on lists of tensors."""


def multi_tensor_applier(operator, no_operation, tensor_lists, *arguments):
    return operator(65536, no_operation, tensor_lists, *arguments)
